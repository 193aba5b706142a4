// SPDX-License-Identifier: BSD-3-Clause
// Ethernet II with an optional 802.1Q tag (IEEE 802.3, 802.1Q).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "wire/field.hpp"

namespace softrnic::wire {

struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};

  static constexpr MacAddress broadcast() { return {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}; }
  // "52:54:00:00:00:01"; no value for anything else.
  static std::optional<MacAddress> from_string(std::string_view text);
  std::string to_string() const;
  constexpr bool is_multicast() const { return (bytes[0] & 1) != 0; }

  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

constexpr MacAddress load_mac(const std::byte* p) {
  MacAddress mac;
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) mac.bytes[i] = load_u8(p + i);
  return mac;
}

constexpr void store_mac(std::byte* p, const MacAddress& mac) {
  for (std::size_t i = 0; i < mac.bytes.size(); ++i) store_u8(p + i, mac.bytes[i]);
}

namespace ethertype {
inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr std::uint16_t kArp = 0x0806;
inline constexpr std::uint16_t kVlan = 0x8100;
inline constexpr std::uint16_t kIpv6 = 0x86dd;
inline constexpr std::uint16_t kRoceV1 = 0x8915;
}  // namespace ethertype

struct VlanTag {
  static constexpr std::size_t kSize = 4;  // including the EtherType 0x8100

  std::uint8_t priority = 0;  // PCP, 3 bits
  bool drop_eligible = false;
  std::uint16_t id = 0;  // 12 bits; 0 is a priority tag

  friend bool operator==(const VlanTag&, const VlanTag&) = default;
};

struct EthernetHeader {
  static constexpr std::size_t kSize = 14;
  static constexpr std::size_t kMaxSize = kSize + VlanTag::kSize;

  MacAddress destination;
  MacAddress source;
  std::optional<VlanTag> vlan;
  std::uint16_t ethertype = 0;  // of what follows the tag, if there is one

  std::size_t size() const { return vlan ? kMaxSize : kSize; }

  // No value when `bytes` is too short.
  static std::optional<EthernetHeader> parse(ByteView bytes);
  // Writes size() bytes, which `bytes` must hold; returns size().
  std::size_t serialize(ByteSpan bytes) const;

  friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;
};

}  // namespace softrnic::wire
