// SPDX-License-Identifier: BSD-3-Clause
// Packet sequence number: 24 bits, compared modulo 2^24 (IBTA vol. 1, 9.7.2).
#pragma once

#include <cstdint>

namespace softrnic::wire {

class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;
  // Half of the number space: the largest distance at which "ahead" is still told from "behind".
  static constexpr std::int32_t kWindow = 1 << 23;

  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}

  constexpr std::uint32_t value() const { return value_; }

  // Signed distance from `origin` to this PSN, in [-2^23, 2^23).
  constexpr std::int32_t since(Psn origin) const {
    return static_cast<std::int32_t>((value_ - origin.value_) << 8) >> 8;
  }

  constexpr bool before(Psn other) const { return since(other) < 0; }
  constexpr bool after(Psn other) const { return since(other) > 0; }

  constexpr Psn operator+(std::uint32_t n) const { return Psn(value_ + n); }
  constexpr Psn operator-(std::uint32_t n) const { return Psn(value_ - n); }
  constexpr Psn& operator++() { return *this = *this + 1; }

  // No ordering operators: PSN order is not total. Use before(), after(), since().
  friend constexpr bool operator==(Psn, Psn) = default;

 private:
  std::uint32_t value_ = 0;
};

}  // namespace softrnic::wire
