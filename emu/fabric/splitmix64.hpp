// SPDX-License-Identifier: BSD-3-Clause
// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, the same numbers on every machine.
//
// The standard library's distributions differ between implementations; a seed printed on one
// machine must give the same faults on another.
#pragma once

#include <cstdint>

namespace softrnic::fabric {

class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // In [0, 1), with 53 random bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // In [0, bound), for a bound well below 2^32: its bias is then below 2^-32.
  constexpr std::uint64_t below(std::uint64_t bound) { return (next() >> 32) * bound >> 32; }

 private:
  std::uint64_t state_;
};

}  // namespace softrnic::fabric
