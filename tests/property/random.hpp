// SPDX-License-Identifier: BSD-3-Clause
// A seeded stream of numbers, the same on every machine and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace softrnic::property {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // The splitmix64 step: a counter and a mixing function.
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // 0 to n - 1; the small bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(below(std::uint64_t{most} - least + 1));
  }
  bool chance(std::uint32_t percent) { return below(100) < percent; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

  void fill(std::span<std::byte> bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i % 8 == 0) word = next();
      bytes[i] = static_cast<std::byte>(word >> (i % 8 * 8));
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace softrnic::property
