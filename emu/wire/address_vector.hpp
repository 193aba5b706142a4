// SPDX-License-Identifier: BSD-3-Clause
// Address vector: how a packet reaches its destination (IBTA vol. 1, 11.2.2), resolved down to
// MAC addresses, and the writer of the headers below the BTH.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/byte_chain.hpp"
#include "wire/ethernet.hpp"
#include "wire/gid.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::wire {

struct AddressVector {
  RoceVersion version = RoceVersion::v2;
  MacAddress source_mac;
  MacAddress destination_mac;
  std::optional<VlanTag> vlan;
  Gid source;  // both mapped IPv4, or neither; v1 carries either kind in the GRH
  Gid destination;
  std::uint8_t traffic_class = 0;  // DSCP << 2 | ECN
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;  // 20 bits, on the wire in IPv6 and GRH
  std::uint16_t udp_source_port = 0xc000;

  NetworkLayer network_layer() const;
  // Bytes from the start of the frame to the BTH.
  std::size_t size() const;

  // Writes size() bytes in front of a transport part of `transport_size` bytes (BTH to ICRC
  // inclusive). `ip_identification` is used by IPv4 only. Returns size().
  std::size_t serialize(ByteSpan out, std::size_t transport_size,
                        std::uint16_t ip_identification) const;
};

// Room to leave in front of a payload: the headers of any packet fit in it.
inline constexpr std::size_t kHeadroom = 128;

// Most bytes a frame can need around its payload of one path MTU: headers, pad and ICRC.
inline constexpr std::size_t kMaxFrameOverhead = kHeadroom + 4 + 4;

}  // namespace softrnic::wire
