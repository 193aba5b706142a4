// SPDX-License-Identifier: BSD-3-Clause
// Packets as the transport takes and gives them: headers from the BTH up, and payload bytes.
// Everything below the BTH, and the ICRC, is the NIC's.
#pragma once

#include <cstdint>

#include "wire/byte_chain.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::transport {

// A request or response that has passed ICRC, P_Key and address checks.
struct InboundPacket {
  const wire::TransportHeaders& headers;
  const wire::OpcodeInfo& opcode;
  wire::ByteChain payload;  // without pad
  // UD: the 40 bytes that go in front of the payload (a GRH, or 20 zero bytes and an IPv4 header).
  wire::ByteView grh;
};

// A packet to send. poll_transmit() fills `headers` (all but nothing: BTH with pad count and
// opcode, extension headers) and lays `payload_size` bytes at the front of `payload_room`, which
// the caller provides with at least one path MTU of space.
struct OutboundPacket {
  wire::MutableByteChain payload_room;  // in
  wire::TransportHeaders headers;
  std::uint32_t payload_size = 0;
  std::uint32_t address_handle = 0;  // UD; zero: the queue pair's own address vector
};

}  // namespace softrnic::transport
