// SPDX-License-Identifier: BSD-3-Clause
// Immediate data, 4 bytes, carried as they are (IBTA vol. 1, 9.3.6).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct ImmDt {
  static constexpr std::size_t kSize = 4;

  std::uint32_t data = 0;  // the four bytes read as a big-endian number

  static ImmDt parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const ImmDt&, const ImmDt&) = default;

  static constexpr Field kData{"immediate", 0, 32};
  static constexpr std::array kFields{kData};
};

}  // namespace softrnic::wire
