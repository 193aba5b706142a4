// SPDX-License-Identifier: BSD-3-Clause
// A mebibyte of fixed random bytes from which every payload is cut: making and checking one costs
// a memcpy and a memcmp, and a byte in the wrong place is still seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "property/random.hpp"

namespace softrnic::soak {

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : bytes_(kSize) { property::Random(seed).fill(bytes_); }

  // `length` bytes, at most kMost, that belong to `name`.
  std::span<const std::byte> of(std::uint64_t name, std::size_t length) const {
    return std::span(bytes_).subspan(name % (kSize - kMost), length);
  }

  static constexpr std::size_t kMost = 1 << 16;

 private:
  static constexpr std::size_t kSize = 1 << 20;
  std::vector<std::byte> bytes_;
};

}  // namespace softrnic::soak
