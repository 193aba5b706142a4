// SPDX-License-Identifier: BSD-3-Clause
// UDP header (RFC 768) and RoCE v2's use of its ports (IBTA annex A17).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

inline constexpr std::uint16_t kRoceV2Port = 4791;

struct UdpHeader {
  static constexpr std::size_t kSize = 8;

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = kRoceV2Port;
  std::uint16_t length = 0;    // this header and all that follows
  std::uint16_t checksum = 0;  // 0: none, as RoCE v2 allows; its integrity is the ICRC

  static UdpHeader parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;

  static constexpr Field kSourcePort{"source_port", 0, 16};
  static constexpr Field kDestinationPort{"destination_port", 16, 16};
  static constexpr Field kLength{"length", 32, 16};
  static constexpr Field kChecksum{"checksum", 48, 16};
  static constexpr std::array kFields{kSourcePort, kDestinationPort, kLength, kChecksum};
};

// The source port for a 20-bit flow label: its low 14 bits folded with the upper 6, in
// 0xC000..0xFFFF, so that switches spread flows.
constexpr std::uint16_t source_port_of_flow_label(std::uint32_t flow_label) {
  flow_label &= 0xfffff;
  return static_cast<std::uint16_t>(((flow_label & 0x3fff) ^ (flow_label >> 14)) | 0xc000);
}

// The flow label a connection uses when the user gave none: the product of both queue pair
// numbers folded to 20 bits, equal at both ends.
constexpr std::uint32_t flow_label_of_qpns(std::uint32_t local, std::uint32_t remote) {
  std::uint64_t v = std::uint64_t{local} * remote;
  v ^= v >> 20;
  v ^= v >> 40;
  return static_cast<std::uint32_t>(v & 0xfffff);
}

}  // namespace softrnic::wire
