// SPDX-License-Identifier: BSD-3-Clause
// IPv6 header (RFC 8200), and with it the GRH of RoCE v1, which has the same layout
// (IBTA vol. 1, 8.3; next header 0x1B). RoCE carries no extension headers.
#pragma once

#include <array>

#include "wire/field.hpp"
#include "wire/gid.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::wire {

struct Ipv6Header {
  static constexpr std::size_t kSize = 40;

  std::uint8_t version = 6;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;      // 20 bits
  std::uint16_t payload_length = 0;  // all that follows this header
  std::uint8_t next_header = ip_protocol::kUdp;
  std::uint8_t hop_limit = 64;
  Gid source;
  Gid destination;

  static Ipv6Header parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;

  static constexpr Field kVersion{"version", 0, 4};
  static constexpr Field kTrafficClass{"traffic_class", 4, 8};
  static constexpr Field kFlowLabel{"flow_label", 12, 20};
  static constexpr Field kPayloadLength{"payload_length", 32, 16};
  static constexpr Field kNextHeader{"next_header", 48, 8};
  static constexpr Field kHopLimit{"hop_limit", 56, 8};
  // Addresses are 128 bits and stand outside the 64-bit field reader.
  static constexpr std::size_t kSourceOffset = 8;
  static constexpr std::size_t kDestinationOffset = 24;
  static constexpr std::array kFields{kVersion,       kTrafficClass, kFlowLabel,
                                      kPayloadLength, kNextHeader,   kHopLimit};
};

}  // namespace softrnic::wire
