// SPDX-License-Identifier: BSD-3-Clause
// The responder of reliable connections and of XRC targets: executes requests in PSN order, answers
// them, recognises duplicates and gaps (IBTA vol. 1, 9.7.1 to 9.7.5, 9.9.3).
#pragma once

#include <cstdint>

#include "transport/answer_queue.hpp"
#include "transport/early_requests.hpp"
#include "transport/inbound_message.hpp"
#include "transport/queue_pair.hpp"
#include "transport/receive_queue.hpp"
#include "transport/responder.hpp"
#include "transport/responder_resources.hpp"

namespace softrnic::transport {

class RcResponder final : public Responder {
 public:
  // Both references must outlive the responder.
  RcResponder(const QueuePairContext& context, const QueuePairAttributes& attributes);

  void start() override;
  void adapt() override;
  void reset() override;
  void flush(bool keep_answers) override;
  std::optional<PostError> post(const ReceiveRequest& request) override;
  std::uint32_t depth() const override { return receives_.size(); }
  void on_request(wire::Instant now, const InboundPacket& packet) override;
  bool wants_transmit() const override { return !answers_.empty(); }
  bool poll_transmit(wire::Instant now, OutboundPacket& out) override;
  bool failed() const override { return failed_; }
  void prime_msn(std::uint32_t msn) override { msn_ = msn & 0xffffff; }
  std::uint32_t msn() const override { return msn_; }

 private:
  // --- checks, in the standard's order (9.7.4.1) ---
  void on_duplicate(const InboundPacket& packet);
  void on_duplicate_read(wire::Psn psn, const wire::Reth& reth);
  void on_gap();
  // In turn: checked, then executed.
  void on_expected(const InboundPacket& packet, bool placed);
  bool needs_receive(const wire::OpcodeInfo& opcode) const;
  // XRC: turns to the shared receive queue that the request names. False, and it has been refused,
  // when that cannot be.
  bool turn_to_queue(const wire::Xrceth& header);

  // --- execution ---
  // `placed`: a WRITE's payload is where it belongs already.
  void execute(const InboundPacket& packet, bool placed);
  void execute_send(const InboundPacket& packet);
  bool invalidates(const wire::Ieth& ieth);
  void execute_write(const InboundPacket& packet, bool placed);
  void execute_read(const InboundPacket& packet);
  void execute_atomic(const InboundPacket& packet);
  void execute_atomic_write(const InboundPacket& packet);
  void execute_flush(const InboundPacket& packet);
  void finish_packet(const InboundPacket& packet);
  // A message more is complete.
  void count_message() { msn_ = (msn_ + 1) & 0xffffff; }
  Accessor accessor() const { return {domain_, context_.qpn}; }
  bool grants(Access access) const { return (attributes_.remote_access & access) != 0; }

  // --- selective repeat ---
  bool is_selective() const { return early_.enabled(); }
  // A request that came before its turn.
  void on_early(const InboundPacket& packet);
  bool place_early(const InboundPacket& packet);
  std::optional<WriteExtent> extent_for(const InboundPacket& packet) const;
  // Lays down a WRITE's bytes, but for those over which a later WRITE has gone already.
  MemoryFault place(wire::Psn psn, std::uint32_t remote_key, std::uint64_t address,
                    const wire::ByteChain& payload) {
    return early_.empty() ? context_.memory.write_remote(accessor(), remote_key, address, payload)
                          : place_around(psn, remote_key, address, payload);
  }
  MemoryFault place_around(wire::Psn psn, std::uint32_t remote_key, std::uint64_t address,
                           const wire::ByteChain& payload);
  // Executes what was kept and has its turn now.
  void take_up_early();
  void answer_selective(wire::Psn psn);

  // --- answers ---
  void answer_acknowledge();
  void answer_rnr();
  // How many READs and atomics it serves, and keeps, at once.
  std::uint32_t depth_of_resources() const;
  // How our own user hears of it.
  enum class Told : std::uint8_t { by_event, by_completion };
  // A NAK that ends the connection (9.9.3, class C and E faults).
  void answer_fatal(wire::NakCode code, Told told = Told::by_event);
  // The empty READ response that ATOMIC WRITE and FLUSH get.
  void answer_placement(Answer::Kind kind, wire::Psn psn, bool replay);
  void answer_read(wire::Psn psn, const wire::Reth& reth, ProtectionDomain domain, bool replay);
  // More READs and atomics unanswered than were agreed, or no memory to keep what their duplicates
  // will ask for.
  bool resources_exhausted();

  // What an acknowledgement says of the receives that are posted (9.7.7.2.4).
  wire::Syndrome with_credits(wire::Syndrome syndrome);
  void fill_read_response(Answer& answer, OutboundPacket& out);

  const QueuePairContext& context_;
  const QueuePairAttributes& attributes_;
  ReceiveQueue receives_;
  // Whose memory the present request may reach: the queue pair's domain, or, for XRC, that of the
  // shared receive queue, which has this number.
  ProtectionDomain domain_;
  std::uint32_t shared_number_ = 0;

  wire::Psn expected_psn_;
  std::uint32_t msn_ = 0;
  // A NAK or RNR NAK for expected_psn_ is out: what lies beyond it is dropped in silence
  // (9.7.5.2.8).
  bool nak_sent_ = false;

  bool told_none_ = false;  // the peer heard last that no receive is posted

  InboundMessage message_;
  EarlyRequests early_;

  AnswerQueue answers_;
  ResponderResources resources_;
  bool failed_ = false;
};

}  // namespace softrnic::transport
