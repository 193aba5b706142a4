// SPDX-License-Identifier: BSD-3-Clause
// The unreliable-connection responder: takes whole messages in PSN order and drops, in silence,
// any message of which a packet is missing (IBTA vol. 1, 9.8.2.2).
#pragma once

#include "transport/inbound_message.hpp"
#include "transport/queue_pair.hpp"
#include "transport/receive_queue.hpp"
#include "transport/responder.hpp"

namespace softrnic::transport {

class UcResponder final : public Responder {
 public:
  // Both references must outlive the responder.
  UcResponder(const QueuePairContext& context, const QueuePairAttributes& attributes);

  void start() override;
  void reset() override;
  void flush(bool keep_answers) override;
  std::optional<PostError> post(const ReceiveRequest& request) override;
  std::uint32_t depth() const override { return receives_.size(); }
  void on_request(wire::Instant now, const InboundPacket& packet) override;
  bool wants_transmit() const override { return false; }
  bool poll_transmit(wire::Instant, OutboundPacket&) override { return false; }
  bool failed() const override { return failed_; }
  void prime_msn(std::uint32_t) override {}

 private:
  bool begin_message(const InboundPacket& packet);
  bool take_send(const InboundPacket& packet);
  bool take_write(const InboundPacket& packet);
  // Drops the present message; packets are ignored until one starts a new message.
  void drop_message();

  const QueuePairContext& context_;
  const QueuePairAttributes& attributes_;
  ReceiveQueue receives_;
  wire::Psn expected_psn_;
  InboundMessage message_;
  bool failed_ = false;
};

}  // namespace softrnic::transport
