// SPDX-License-Identifier: BSD-3-Clause
// The requester of the unreliable services, UC and UD: packets leave in order and a request is
// complete when its last packet has left (IBTA vol. 1, 9.8.2, 9.8.3).
#pragma once

#include "transport/queue_pair.hpp"
#include "transport/requester.hpp"
#include "transport/send_queue.hpp"

namespace softrnic::transport {

class UnreliableRequester final : public Requester {
 public:
  // Both references must outlive the requester.
  UnreliableRequester(const QueuePairContext& context, const QueuePairAttributes& attributes);

  void start() override { next_psn_ = attributes_.send_psn; }
  void reset() override;
  void flush() override;
  void drain() override { draining_ = true; }
  void resume() override { draining_ = false; }
  bool drained() const override { return next_packet_ == 0; }
  std::optional<PostError> post(const SendRequest& request) override;
  std::uint32_t depth() const override { return queue_.size(); }
  void on_response(wire::Instant, const InboundPacket&) override {
    ++context_.counters.unexpected_response;
  }
  bool wants_transmit(wire::Instant) const override {
    return !failed_ && !queue_.empty() && !(draining_ && drained());
  }
  bool poll_transmit(wire::Instant now, OutboundPacket& out) override;
  wire::Instant next_deadline() const override { return wire::kNever; }
  void on_deadline(wire::Instant) override {}
  bool failed() const override { return failed_; }
  bool lost_completion() const override { return lost_completion_; }

 private:
  bool is_datagram() const { return context_.type == QueuePairType::ud; }
  // Whom a datagram goes to.
  void address(const SendRequest& request, OutboundPacket& out);
  void retire_head(CompletionStatus status);

  const QueuePairContext& context_;
  const QueuePairAttributes& attributes_;
  SendQueue queue_;
  std::uint32_t next_packet_ = 0;  // of the head
  wire::Psn next_psn_;
  bool draining_ = false;
  bool failed_ = false;
  bool lost_completion_ = false;
};

}  // namespace softrnic::transport
