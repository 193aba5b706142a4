// SPDX-License-Identifier: BSD-3-Clause
// The requester of reliable connections and of XRC initiators: PSNs, acknowledgements, end-to-end
// credits, go-back-N or selective repeat, RNR waits, retry limits (IBTA vol. 1, 9.7.2 to 9.7.7).
//
// A cursor walks over the send queue and says what to send next; acknowledgements retire requests
// from the queue's head. Loss of any kind ends in one move: the cursor goes back to the oldest
// PSN that is not accounted for. With selective repeat it passes over what the peer has.
#pragma once

#include "transport/end_to_end_credits.hpp"
#include "transport/loss_probe.hpp"
#include "transport/queue_pair.hpp"
#include "transport/requester.hpp"
#include "transport/scoreboard.hpp"
#include "transport/send_queue.hpp"

namespace softrnic::transport {

class RcRequester final : public Requester {
 public:
  // Both references must outlive the requester.
  RcRequester(const QueuePairContext& context, const QueuePairAttributes& attributes);

  void start() override;
  void reset() override;
  void flush() override;
  void drain() override;
  void resume() override;
  bool drained() const override { return begun_ == 0; }
  std::optional<PostError> post(const SendRequest& request) override;
  std::uint32_t depth() const override { return queue_.size(); }
  void on_response(wire::Instant now, const InboundPacket& packet) override;
  bool wants_transmit(wire::Instant now) const override;
  bool poll_transmit(wire::Instant now, OutboundPacket& out) override;
  wire::Instant next_deadline() const override;
  void on_deadline(wire::Instant now) override;
  bool failed() const override { return failed_; }
  bool lost_completion() const override { return lost_completion_; }

 private:
  // --- sending ---
  bool at_queue_end() const { return cursor_ == queue_.size(); }
  // Whether the request under the cursor may be sent now: window, depth, fence.
  bool may_send() const;
  bool may_begin(const SendEntry& entry) const;
  // Sends the last packet once more, to ask for the acknowledgement that the next would have.
  void ask_again();
  // Gives the entry under the cursor its PSNs and checks what can be checked beforehand.
  void begin();
  wire::Psn cursor_psn() const;
  // Takes the cursor over requests that send nothing, carrying out those not yet begun.
  void pass_local();
  bool asks_acknowledgement(const SendEntry& entry) const;
  bool next_cannot_follow() const;
  void advance(wire::Instant now, SendEntry& entry, OutboundPacket& out);
  // Takes the cursor over one packet, and all of a READ.
  void pass(const SendEntry& entry);
  // Request packets that may be unacknowledged, counting those that the peer has out of turn.
  std::uint32_t window() const { return scoreboard_.enabled() ? selective_window() : window_; }
  std::uint32_t selective_window() const;

  // --- end-to-end credits ---
  // Whether the request needs a receive, and the peer has none left for it.
  bool is_limited(const SendEntry& entry) const {
    return credits_.exhausted() && entry.consumes_receive();
  }
  // Whether such a request may go on nevertheless.
  bool may_ask_beyond(const SendEntry& entry) const;

  // --- hearing ---
  // True when `psn` lies among those sent and unacknowledged.
  bool is_outstanding(wire::Psn psn) const;
  // Retires everything before `end`. Returns false, and rewinds, when a response that should have
  // come before `end` is missing (implied NAK, 9.7.5.2.8).
  bool acknowledge_before(wire::Instant now, wire::Psn end);
  void on_read_response(wire::Instant now, const InboundPacket& packet);
  void on_placement_response(wire::Instant now, const InboundPacket& packet);
  void on_atomic_response(wire::Instant now, const InboundPacket& packet);
  // The last packet of the response to the head has come, and is where it belongs.
  void complete_response(wire::Instant now, std::uint32_t byte_length);
  void on_acknowledge(wire::Instant now, const InboundPacket& packet);
  void on_selective_acknowledge(wire::Instant now, const InboundPacket& packet);
  void on_rnr_nak(wire::Instant now, wire::Psn psn, std::uint8_t timer_code);
  void on_nak(wire::Instant now, wire::Psn psn, wire::Syndrome syndrome);
  void progress(wire::Instant now, wire::Psn unacked);
  void retire_head(CompletionStatus status, std::uint32_t byte_length);
  void implied_nak(wire::Instant now);

  // --- recovering ---
  // Back to the oldest unaccounted PSN, from where at most `window` packets go unacknowledged.
  void rewind(std::uint32_t window);
  // Over what was sent and need not be sent again.
  void skip_delivered();
  // Whether the request must be sent again, from its packet `psn` on.
  bool needs_repeat(const SendEntry& entry, wire::Psn psn) const;
  bool is_head_lost() const;
  // The oldest packet goes again, though the peer said that it has it: the answer was lost.
  void lose_head();
  // Sends the oldest packet again, since nothing behind it can tell of its loss.
  void probe(wire::Instant now);
  void rearm_probe(wire::Instant now);
  std::uint32_t half_window() const;
  // Takes one retry; false, and the head has failed, when none is left.
  bool take_retry();
  void fail_head(CompletionStatus status);
  // Completes the head, and those behind it, as long as it is one that waited only for its turn: a
  // local request, or one that could not be sent.
  void settle_head();
  void retire_one(CompletionStatus status, std::uint32_t byte_length);
  void rearm(wire::Instant now);

  const QueuePairContext& context_;
  const QueuePairAttributes& attributes_;
  const bool is_extended_;  // an XRC initiator
  SendQueue queue_;

  std::uint32_t cursor_ = 0;         // index of the entry being sent
  std::uint32_t cursor_packet_ = 0;  // packet of that entry to send next
  std::uint32_t begun_ = 0;          // entries that have PSNs: [0, begun_)
  wire::Psn next_psn_;               // for the next entry to begin
  wire::Psn unacked_psn_;            // oldest not acknowledged
  wire::Psn sent_end_;               // after the highest PSN ever sent

  std::uint32_t packets_in_flight_ = 0;  // before the cursor, without READs and atomics
  std::uint32_t window_;                 // packets_in_flight_ may become
  std::uint32_t responses_due_ = 0;      // READs and atomics before the cursor, unanswered
  std::uint32_t since_ack_request_ = 0;
  bool catching_up_ = false;        // after a rewind, until sent_end_ is acknowledged
  bool implied_nak_taken_ = false;  // for the present unacked_psn_

  EndToEndCredits credits_;
  Scoreboard scoreboard_;
  LossProbe loss_probe_;
  bool probing_ = false;  // the next packet asks for an acknowledgement

  int timeouts_in_row_ = 0;  // without progress
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  wire::Instant ack_deadline_ = wire::kNever;
  wire::Instant rnr_deadline_ = wire::kNever;
  bool draining_ = false;
  bool failed_ = false;
  bool lost_completion_ = false;
};

}  // namespace softrnic::transport
