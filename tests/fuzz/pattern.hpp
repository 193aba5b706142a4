// SPDX-License-Identifier: BSD-3-Clause
// Memory with known contents: each byte is a function of its place and of a key, so that bytes
// that were moved tell where they are from, and bytes that were not to move tell that they did.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace softrnic::fuzz {

constexpr std::byte pattern_byte(std::uint8_t key, std::size_t place) {
  const std::uint64_t mixed = (place + 1) * 0x9e3779b97f4a7c15 + key * 0xbf58476d1ce4e5b9;
  return static_cast<std::byte>(mixed >> 56);
}

inline void fill(std::span<std::byte> bytes, std::uint8_t key, std::size_t place = 0) {
  for (std::byte& byte : bytes) byte = pattern_byte(key, place++);
}

// Whether the bytes are those of the pattern from `place` on.
inline bool matches(std::span<const std::byte> bytes, std::uint8_t key, std::size_t place = 0) {
  return std::all_of(bytes.begin(), bytes.end(), [key, place](std::byte byte) mutable {
    return byte == pattern_byte(key, place++);
  });
}

}  // namespace softrnic::fuzz
