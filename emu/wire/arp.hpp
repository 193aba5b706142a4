// SPDX-License-Identifier: BSD-3-Clause
// ARP for IPv4 over Ethernet (RFC 826).
#pragma once

#include <optional>

#include "wire/ethernet.hpp"

namespace softrnic::wire {

struct Arp {
  static constexpr std::size_t kSize = 28;
  static constexpr std::uint16_t kRequest = 1;
  static constexpr std::uint16_t kReply = 2;

  std::uint16_t operation = kRequest;
  MacAddress sender_mac;
  std::uint32_t sender_ip = 0;  // host order
  MacAddress target_mac;
  std::uint32_t target_ip = 0;  // host order

  // The bytes after the Ethernet header; no value when too short or not IPv4 over Ethernet.
  static std::optional<Arp> parse(ByteView bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Arp&, const Arp&) = default;
};

}  // namespace softrnic::wire
