// SPDX-License-Identifier: BSD-3-Clause
// The message a responder is in the middle of: its kind, how much has arrived, and for a WRITE
// where it goes. Shared by RC and UC, whose rules for it are the same (IBTA vol. 1, 9.7.4.1).
#pragma once

#include <cstdint>

#include "transport/packet.hpp"

namespace softrnic::transport {

class InboundMessage {
 public:
  enum class Kind : std::uint8_t { none, send, write };

  Kind kind() const { return kind_; }
  std::uint64_t offset() const { return offset_; }  // bytes that have arrived
  std::uint64_t write_address() const { return write_.virtual_address + offset_; }
  std::uint32_t write_key() const { return write_.remote_key; }
  std::uint64_t write_length() const { return write_.dma_length; }  // as announced

  void begin_send() { *this = InboundMessage(Kind::send, {}); }
  void begin_write(const wire::Reth& reth) { *this = InboundMessage(Kind::write, reth); }
  void advance(std::size_t bytes) { offset_ += bytes; }
  void end() { kind_ = Kind::none; }

  // Whether the opcode may come now: a message that has begun goes on with its own kind until its
  // last packet (9.7.4.1.2).
  bool accepts(const wire::OpcodeInfo& opcode) const;

  // For a WRITE: the packets together are as long as announced, not a byte more at any time, not
  // one less at the end (9.7.4.1.6).
  bool fits_announcement(const InboundPacket& packet) const;

  InboundMessage() = default;

 private:
  InboundMessage(Kind kind, const wire::Reth& write) : kind_(kind), write_(write) {}

  Kind kind_ = Kind::none;
  std::uint64_t offset_ = 0;
  wire::Reth write_;
};

// First and middle packets are full, last ones hold at least a byte, none is more than full;
// requests without payload have none (9.7.4.1.6).
bool payload_size_is_right(const InboundPacket& packet, std::uint32_t path_mtu);

}  // namespace softrnic::transport
