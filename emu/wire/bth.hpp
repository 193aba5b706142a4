// SPDX-License-Identifier: BSD-3-Clause
// Base transport header, 12 bytes (IBTA vol. 1, 9.2; FECN and BECN: annex A17).
#pragma once

#include <array>

#include "wire/field.hpp"
#include "wire/opcode.hpp"
#include "wire/psn.hpp"

namespace softrnic::wire {

inline constexpr std::uint16_t kDefaultPartitionKey = 0xffff;

struct Bth {
  static constexpr std::size_t kSize = 12;

  // Any byte value, also one the table does not know, so that every header round-trips.
  Opcode opcode{};
  bool solicited = false;
  bool migration_request = false;  // MigReq: hardware sets it in the migrated state
  std::uint8_t pad_count = 0;      // 0 to 3
  std::uint8_t version = 0;        // TVer, 4 bits
  std::uint16_t partition_key = kDefaultPartitionKey;
  bool fecn = false;
  bool becn = false;
  std::uint8_t reserved6 = 0;
  std::uint32_t destination_qpn = 0;  // 24 bits
  bool ack_request = false;
  std::uint8_t reserved7 = 0;
  Psn psn;

  static Bth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Bth&, const Bth&) = default;

  static constexpr Field kOpcode{"opcode", 0, 8};
  static constexpr Field kSolicited{"solicited", 8, 1};
  static constexpr Field kMigrationRequest{"migration_request", 9, 1};
  static constexpr Field kPadCount{"pad_count", 10, 2};
  static constexpr Field kVersion{"version", 12, 4};
  static constexpr Field kPartitionKey{"partition_key", 16, 16};
  static constexpr Field kFecn{"fecn", 32, 1};
  static constexpr Field kBecn{"becn", 33, 1};
  static constexpr Field kReserved6{"reserved6", 34, 6};
  static constexpr Field kDestinationQpn{"destination_qpn", 40, 24};
  static constexpr Field kAckRequest{"ack_request", 64, 1};
  static constexpr Field kReserved7{"reserved7", 65, 7};
  static constexpr Field kPsn{"psn", 72, 24};
  static constexpr std::array kFields{
      kOpcode, kSolicited, kMigrationRequest, kPadCount,   kVersion,   kPartitionKey, kFecn,
      kBecn,   kReserved6, kDestinationQpn,   kAckRequest, kReserved7, kPsn};
};

}  // namespace softrnic::wire
