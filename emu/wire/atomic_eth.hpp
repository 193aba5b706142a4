// SPDX-License-Identifier: BSD-3-Clause
// Atomic extended transport header, 28 bytes (IBTA vol. 1, 9.3.4).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct AtomicEth {
  static constexpr std::size_t kSize = 28;

  std::uint64_t virtual_address = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t swap_add = 0;  // the new value, or what is added
  std::uint64_t compare = 0;   // compare-and-swap only

  static AtomicEth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;

  static constexpr Field kVirtualAddress{"virtual_address", 0, 64};
  static constexpr Field kRemoteKey{"remote_key", 64, 32};
  static constexpr Field kSwapAdd{"swap_add", 96, 64};
  static constexpr Field kCompare{"compare", 160, 64};
  static constexpr std::array kFields{kVirtualAddress, kRemoteKey, kSwapAdd, kCompare};
};

}  // namespace softrnic::wire
