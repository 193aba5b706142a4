// SPDX-License-Identifier: BSD-3-Clause
// IPv4 header (RFC 791). Options are recognised and skipped, never written.
#pragma once

#include <array>
#include <optional>

#include "wire/field.hpp"

namespace softrnic::wire {

namespace ip_protocol {
inline constexpr std::uint8_t kHopByHop = 0;  // IPv6 (RFC 8200, 4.3)
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kIgmp = 2;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kGrhBth = 0x1b;  // GRH next header: IBA transport (IBTA vol. 1, 8.3)
inline constexpr std::uint8_t kIcmpv6 = 58;
}  // namespace ip_protocol

struct Ipv4Header {
  static constexpr std::size_t kSize = 20;

  std::uint8_t version = 4;
  std::uint8_t header_words = 5;   // IHL
  std::uint8_t traffic_class = 0;  // TOS: DSCP << 2 | ECN (RFC 2474, RFC 3168)
  std::uint16_t total_length = 0;  // this header and all that follows
  std::uint16_t identification = 0;
  std::uint8_t flags = 2;  // 3 bits; 2 is don't-fragment
  std::uint16_t fragment_offset = 0;
  std::uint8_t time_to_live = 64;
  std::uint8_t protocol = ip_protocol::kUdp;
  std::uint16_t checksum = 0;
  std::uint32_t source = 0;       // host order
  std::uint32_t destination = 0;  // host order

  static Ipv4Header parse(std::span<const std::byte, kSize> bytes);
  // Writes `checksum` as it is.
  void serialize(std::span<std::byte, kSize> bytes) const;
  // The checksum this header should carry.
  std::uint16_t computed_checksum() const;

  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;

  static constexpr Field kVersion{"version", 0, 4};
  static constexpr Field kHeaderWords{"header_words", 4, 4};
  static constexpr Field kTrafficClass{"traffic_class", 8, 8};
  static constexpr Field kTotalLength{"total_length", 16, 16};
  static constexpr Field kIdentification{"identification", 32, 16};
  static constexpr Field kFlags{"flags", 48, 3};
  static constexpr Field kFragmentOffset{"fragment_offset", 51, 13};
  static constexpr Field kTimeToLive{"time_to_live", 64, 8};
  static constexpr Field kProtocol{"protocol", 72, 8};
  static constexpr Field kChecksum{"checksum", 80, 16};
  static constexpr Field kSource{"source", 96, 32};
  static constexpr Field kDestination{"destination", 128, 32};
  static constexpr std::array kFields{kVersion,        kHeaderWords, kTrafficClass,   kTotalLength,
                                      kIdentification, kFlags,       kFragmentOffset, kTimeToLive,
                                      kProtocol,       kChecksum,    kSource,         kDestination};
};

// The ones' complement sum of RFC 1071 over `bytes`, starting from `sum`, folded and inverted.
std::uint16_t internet_checksum(ByteView bytes, std::uint32_t sum = 0);

}  // namespace softrnic::wire
