// SPDX-License-Identifier: BSD-3-Clause
#include "transport/inbound_message.hpp"

namespace softrnic::transport {

bool InboundMessage::accepts(const wire::OpcodeInfo& opcode) const {
  switch (opcode.operation) {
    case wire::Operation::send:
      return kind_ == (opcode.starts_message() ? Kind::none : Kind::send);
    case wire::Operation::write:
      return kind_ == (opcode.starts_message() ? Kind::none : Kind::write);
    case wire::Operation::read_request:
    case wire::Operation::compare_swap:
    case wire::Operation::fetch_add:
    case wire::Operation::atomic_write:
    case wire::Operation::flush:
      return kind_ == Kind::none;
    default:
      return false;
  }
}

bool InboundMessage::fits_announcement(const InboundPacket& packet) const {
  const std::uint64_t end = offset_ + packet.payload.size();
  return packet.opcode.ends_message() ? end == write_length() : end <= write_length();
}

bool payload_size_is_right(const InboundPacket& packet, std::uint32_t path_mtu) {
  const std::size_t size = packet.payload.size();
  if (!packet.opcode.carries_payload) return size == 0;
  switch (packet.opcode.position) {
    case wire::Position::first:
    case wire::Position::middle:
      return size == path_mtu;
    case wire::Position::last:
      return size >= 1 && size <= path_mtu;
    case wire::Position::only:
      return size <= path_mtu;
  }
  return false;
}

}  // namespace softrnic::transport
