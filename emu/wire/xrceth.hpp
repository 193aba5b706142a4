// SPDX-License-Identifier: BSD-3-Clause
// XRC extended transport header, 4 bytes: the target's shared receive queue (IBTA vol. 1, annex
// A14).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct Xrceth {
  static constexpr std::size_t kSize = 4;

  std::uint8_t reserved = 0;
  std::uint32_t shared_receive_queue = 0;  // 24 bits

  static Xrceth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Xrceth&, const Xrceth&) = default;

  static constexpr Field kReserved{"reserved", 0, 8};
  static constexpr Field kSharedReceiveQueue{"shared_receive_queue", 8, 24};
  static constexpr std::array kFields{kReserved, kSharedReceiveQueue};
};

}  // namespace softrnic::wire
