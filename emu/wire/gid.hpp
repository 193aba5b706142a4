// SPDX-License-Identifier: BSD-3-Clause
// Global identifier: 128 bits, an IPv6 address or an IPv4 address mapped as ::ffff:a.b.c.d
// (IBTA vol. 1, 4.1.1; annex A17 for the mapping). Also serves as "IP address of either version".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/ethernet.hpp"

namespace softrnic::wire {

struct Gid {
  std::array<std::uint8_t, 16> bytes{};

  static Gid from_ipv4(std::uint32_t host_order);
  // fe80::/64 with the interface identifier made from the MAC address (RFC 4291, appendix A).
  static Gid link_local(const MacAddress& mac);
  // "10.0.0.1" or any IPv6 text form; no value for anything else.
  static std::optional<Gid> from_string(std::string_view text);
  // "10.0.0.1" for a mapped IPv4 address, RFC 5952 text otherwise.
  std::string to_string() const;

  bool is_ipv4_mapped() const;
  std::uint32_t ipv4() const;  // host order; only for a mapped address
  bool is_link_local() const;
  bool is_multicast() const;  // ff00::/8, or a mapped 224.0.0.0/4
  bool is_zero() const;

  friend auto operator<=>(const Gid&, const Gid&) = default;
};

}  // namespace softrnic::wire
