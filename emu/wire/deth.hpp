// SPDX-License-Identifier: BSD-3-Clause
// Datagram extended transport header, 8 bytes (IBTA vol. 1, 9.3.2).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct Deth {
  static constexpr std::size_t kSize = 8;

  std::uint32_t queue_key = 0;
  std::uint8_t reserved = 0;
  std::uint32_t source_qpn = 0;  // 24 bits

  static Deth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Deth&, const Deth&) = default;

  static constexpr Field kQueueKey{"queue_key", 0, 32};
  static constexpr Field kReserved{"reserved", 32, 8};
  static constexpr Field kSourceQpn{"source_qpn", 40, 24};
  static constexpr std::array kFields{kQueueKey, kReserved, kSourceQpn};
};

}  // namespace softrnic::wire
