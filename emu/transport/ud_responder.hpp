// SPDX-License-Identifier: BSD-3-Clause
// The unreliable-datagram responder: each packet is a message, placed behind 40 bytes of GRH room
// in the next receive (IBTA vol. 1, 9.8.3.2, 11.4.1.2).
#pragma once

#include "transport/queue_pair.hpp"
#include "transport/receive_queue.hpp"
#include "transport/responder.hpp"

namespace softrnic::transport {

class UdResponder final : public Responder {
 public:
  static constexpr std::uint32_t kGrhRoom = 40;

  // Both references must outlive the responder.
  UdResponder(const QueuePairContext& context, const QueuePairAttributes& attributes);

  void start() override {}
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
  const QueuePairContext& context_;
  const QueuePairAttributes& attributes_;
  ReceiveQueue receives_;
  bool failed_ = false;
};

}  // namespace softrnic::transport
