// SPDX-License-Identifier: BSD-3-Clause
// The unreliable-connection responder: takes whole messages in PSN order and drops, in silence,
// any message of which a packet is missing (IBTA vol. 1, 9.8.2.2).
#pragma once

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
  enum class Message : std::uint8_t { none, send, write };

  bool length_is_right(const InboundPacket& packet) const;
  bool begin_message(const InboundPacket& packet);
  bool take_send(const InboundPacket& packet);
  bool take_write(const InboundPacket& packet);
  void complete_receive(const InboundPacket& packet, CompletionOperation operation,
                        std::uint32_t byte_length);
  // Drops the present message; packets are ignored until one starts a new message.
  void drop_message();

  const QueuePairContext& context_;
  const QueuePairAttributes& attributes_;
  ReceiveQueue receives_;
  wire::Psn expected_psn_;
  Message message_ = Message::none;
  std::uint64_t message_offset_ = 0;
  std::uint64_t write_address_ = 0;
  std::uint32_t write_key_ = 0;
  std::uint64_t write_length_ = 0;
  bool failed_ = false;
};

}  // namespace softrnic::transport
