// SPDX-License-Identifier: BSD-3-Clause
// The little of ICMP, ICMPv6 and neighbour discovery that a NIC answers: echo, neighbour
// solicitation and advertisement (RFC 792, RFC 4443, RFC 4861).
//
// Parsers take the bytes after the IP header, cut to the IP length, and verify the checksum;
// builders return the message with its checksum made.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/bytes.hpp"
#include "wire/gid.hpp"

namespace softrnic::wire {

struct Echo {
  bool reply = false;
  std::uint16_t identifier = 0;
  std::uint16_t sequence = 0;
  ByteView data;

  static constexpr std::size_t kHeaderSize = 8;
  std::size_t size() const { return kHeaderSize + data.size(); }

  static std::optional<Echo> parse_icmp(ByteView message);
  static std::optional<Echo> parse_icmpv6(ByteView message, const Gid& source,
                                          const Gid& destination);
  // Write size() bytes to the front of `out`, which must hold them.
  void serialize_icmp(ByteSpan out) const;
  void serialize_icmpv6(ByteSpan out, const Gid& source, const Gid& destination) const;
};

struct NeighborMessage {
  bool advertisement = false;  // else a solicitation
  bool router = false;
  bool solicited = false;
  bool override_flag = false;
  Gid target;
  // Source link-layer address of a solicitation, target link-layer address of an advertisement.
  std::optional<MacAddress> link_address;

  static constexpr std::size_t kMaxSize = 32;
  std::size_t size() const { return link_address ? 32 : 24; }

  static std::optional<NeighborMessage> parse(ByteView message, const Gid& source,
                                              const Gid& destination);
  void serialize(ByteSpan out, const Gid& source, const Gid& destination) const;
};

// The sum of the pseudo-header of RFC 8200, 8.1, to start an ICMPv6 checksum from.
std::uint32_t icmpv6_pseudo_header_sum(std::size_t length, const Gid& source,
                                       const Gid& destination);

// ff02::1:ffXX:XXXX, and the Ethernet group an IPv6 or IPv4 multicast address maps to
// (RFC 4291 2.7.1, RFC 2464 7, RFC 1112 6.4).
Gid solicited_node_multicast(const Gid& target);
MacAddress multicast_mac(const Gid& group);

}  // namespace softrnic::wire
