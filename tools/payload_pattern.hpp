// SPDX-License-Identifier: BSD-3-Clause
// Bytes that are easy to make again and hard to mistake: what the tools send and check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace softrnic::tools {

// Fills `out` with the pseudo-random bytes that `key` stands for; every key has its own.
void fill_pattern(std::span<std::byte> out, std::uint64_t key);

// One key from several numbers.
std::uint64_t mix_key(std::uint64_t a, std::uint64_t b);

struct Mismatch {
  std::size_t offset = 0;
  std::byte expected{};
  std::byte got{};

  std::string to_string() const;  // "byte 17 is 0x00, expected 0x7b"
};

// The first difference; the spans are equally long.
std::optional<Mismatch> compare(std::span<const std::byte> expected,
                                std::span<const std::byte> got);

}  // namespace softrnic::tools
