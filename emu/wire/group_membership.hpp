// SPDX-License-Identifier: BSD-3-Clause
// How a host tells routers and snooping switches which multicast groups it hears: IGMPv2 for IPv4
// (RFC 2236), MLDv1 for IPv6 (RFC 2710). Queriers of the later versions understand both.
//
// Parsers take the bytes after the IP header, and verify the checksum. A message for IPv6 stands
// behind a hop-by-hop header with a router alert (RFC 2711), which is part of what is read and
// written here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/bytes.hpp"
#include "wire/gid.hpp"
#include "wire/instant.hpp"

namespace softrnic::wire {

enum class MembershipKind : std::uint8_t { query, report, leave };

struct MembershipMessage {
  MembershipKind kind{};
  Gid group;  // zero in a query: all groups
  // Queries: within what time to answer.
  Duration answer_within{};

  static constexpr std::size_t kIgmpSize = 8;
  static constexpr std::size_t kHopByHopSize = 8;
  static constexpr std::size_t kMldSize = kHopByHopSize + 24;

  static std::optional<MembershipMessage> parse_igmp(ByteView message);
  // `message` begins with the hop-by-hop header.
  static std::optional<MembershipMessage> parse_mld(ByteView message, const Gid& source,
                                                    const Gid& destination);
  void serialize_igmp(std::span<std::byte, kIgmpSize> out) const;
  void serialize_mld(std::span<std::byte, kMldSize> out, const Gid& source,
                     const Gid& destination) const;

  // Where it goes: reports to the group, leaving to all routers.
  Gid destination() const;
};

}  // namespace softrnic::wire
