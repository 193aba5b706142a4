// SPDX-License-Identifier: BSD-3-Clause
// Flush extended transport header, 4 bytes (IBTA vol. 1, memory placement extensions annex).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct Feth {
  static constexpr std::size_t kSize = 4;

  // Selectivity levels.
  static constexpr std::uint8_t kRange = 0;
  static constexpr std::uint8_t kWholeRegion = 1;
  // Placement types, which go together.
  static constexpr std::uint8_t kGlobalVisibility = 1;
  static constexpr std::uint8_t kPersistence = 2;

  std::uint32_t reserved = 0;       // 26 bits
  std::uint8_t selectivity = 0;     // SEL, 2 bits: 0 range, 1 whole region
  std::uint8_t placement_type = 0;  // PLT, 4 bits: 1 global visibility, 2 persistence

  static Feth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Feth&, const Feth&) = default;

  static constexpr Field kReserved{"reserved", 0, 26};
  static constexpr Field kSelectivity{"selectivity", 26, 2};
  static constexpr Field kPlacementType{"placement_type", 28, 4};
  static constexpr std::array kFields{kReserved, kSelectivity, kPlacementType};
};

}  // namespace softrnic::wire
