// SPDX-License-Identifier: BSD-3-Clause
// IP addressing of RDMA CM (IBTA annex A11): the service id that names a port, and the header that
// opens the private data of a REQ or SIDR REQ to such a service id.
#pragma once

#include <array>
#include <optional>

#include "wire/field.hpp"
#include "wire/gid.hpp"

namespace softrnic::wire {

// A service id of the range 0000:0000:01xx:xxxx; the protocol is an IP protocol number (6 TCP,
// 17 UDP) that tells the port spaces of RDMA CM apart.
struct IpServiceId {
  std::uint8_t protocol = 6;
  std::uint16_t port = 0;

  // No value for a service id that names no IP port.
  static std::optional<IpServiceId> from(std::uint64_t service_id);
  std::uint64_t value() const;

  friend bool operator==(const IpServiceId&, const IpServiceId&) = default;
};

struct IpCmHeader {
  static constexpr std::size_t kSize = 36;

  std::uint8_t major_version = 0;  // 4 bits
  std::uint8_t minor_version = 0;  // 4 bits
  std::uint8_t ip_version = 4;     // 4 bits: 4 or 6
  std::uint8_t reserved = 0;       // 4 bits
  std::uint16_t source_port = 0;
  // 16 bytes as carried: an IPv4 address lies in the last four, the others are zero.
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};

  // As a GID, so ::ffff:a.b.c.d for IPv4.
  Gid source_address() const;
  Gid destination_address() const;
  // Sets both addresses, and the IP version by them.
  void set_addresses(const Gid& from, const Gid& to);

  static IpCmHeader parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const IpCmHeader&, const IpCmHeader&) = default;

  static constexpr Field kMajorVersion{"major_version", 0, 4};
  static constexpr Field kMinorVersion{"minor_version", 4, 4};
  static constexpr Field kIpVersion{"ip_version", 8, 4};
  static constexpr Field kReserved{"reserved", 12, 4};
  static constexpr Field kSourcePort{"source_port", 16, 16};
  // Addresses are 128 bits and stand outside the 64-bit field reader.
  static constexpr std::size_t kSourceOffset = 4;
  static constexpr std::size_t kDestinationOffset = 20;
  static constexpr std::array kFields{kMajorVersion, kMinorVersion, kIpVersion, kReserved,
                                      kSourcePort};
};

}  // namespace softrnic::wire
