// SPDX-License-Identifier: BSD-3-Clause
#include "payload_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace softrnic::tools {

namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit moves every output bit.
std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

}  // namespace

std::uint64_t mix_key(std::uint64_t a, std::uint64_t b) {
  return scramble(scramble(a + kGoldenGamma) + b);
}

void fill_pattern(std::span<std::byte> out, std::uint64_t key) {
  for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint64_t)) {
    key += kGoldenGamma;
    const std::uint64_t word = scramble(key);
    std::memcpy(out.data() + at, &word, std::min(sizeof word, out.size() - at));
  }
}

std::string Mismatch::to_string() const {
  return fmt::format("byte {} is {:#04x}, expected {:#04x}", offset, std::to_integer<int>(got),
                     std::to_integer<int>(expected));
}

std::optional<Mismatch> compare(std::span<const std::byte> expected,
                                std::span<const std::byte> got) {
  const auto at = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  if (at.first == expected.end()) return {};
  return Mismatch{static_cast<std::size_t>(at.first - expected.begin()), *at.first, *at.second};
}

}  // namespace softrnic::tools
