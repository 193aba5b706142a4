// SPDX-License-Identifier: BSD-3-Clause
// Invalidate extended transport header, 4 bytes: the key to invalidate (IBTA vol. 1, 9.3.7).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct Ieth {
  static constexpr std::size_t kSize = 4;

  std::uint32_t remote_key = 0;

  static Ieth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Ieth&, const Ieth&) = default;

  static constexpr Field kRemoteKey{"remote_key", 0, 32};
  static constexpr std::array kFields{kRemoteKey};
};

}  // namespace softrnic::wire
