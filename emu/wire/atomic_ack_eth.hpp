// SPDX-License-Identifier: BSD-3-Clause
// Atomic ACK extended transport header, 8 bytes: the value before the operation
// (IBTA vol. 1, 9.3.5.3).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct AtomicAckEth {
  static constexpr std::size_t kSize = 8;

  std::uint64_t original = 0;

  static AtomicAckEth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;

  static constexpr Field kOriginal{"original", 0, 64};
  static constexpr std::array kFields{kOriginal};
};

}  // namespace softrnic::wire
