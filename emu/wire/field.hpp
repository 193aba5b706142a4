// SPDX-License-Identifier: BSD-3-Clause
// One row of a header's layout table: where a field lies and how wide it is.
//
// Each header names its fields once, as constants of this type and as one table of them; parse,
// serialize, the dissector, fault rules and the capture editor all read that table.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/bytes.hpp"

namespace softrnic::wire {

struct Field {
  std::string_view name;     // "psn", "destination_qpn": the name fault rules and editors use
  std::uint16_t bit_offset;  // from the header's first byte, most significant bit first
  std::uint8_t bit_width;    // 1 to 64
};

// Reads a field; folds to a few instructions when `field` is a constant.
constexpr std::uint64_t get(const std::byte* header, const Field& field) {
  std::uint64_t value = 0;
  const std::uint32_t first = field.bit_offset / 8;
  const std::uint32_t end_bit = field.bit_offset + field.bit_width;
  const std::uint32_t last = (end_bit - 1) / 8;
  for (std::uint32_t i = first; i <= last; ++i) value = value << 8 | load_u8(header + i);
  value >>= (last + 1) * 8 - end_bit;
  return field.bit_width == 64 ? value : value & ((std::uint64_t{1} << field.bit_width) - 1);
}

// Writes a field and leaves the bits around it as they are. 64-bit fields must be byte-aligned.
constexpr void put(std::byte* header, const Field& field, std::uint64_t value) {
  std::uint32_t bit = field.bit_offset + field.bit_width;
  std::uint32_t left = field.bit_width;
  while (left > 0) {
    const std::uint32_t byte = (bit - 1) / 8;
    const std::uint32_t shift = (8 - bit % 8) % 8;
    const std::uint32_t n = left < 8 - shift ? left : 8 - shift;
    const std::uint32_t mask = ((1u << n) - 1) << shift;
    const std::uint32_t old = load_u8(header + byte);
    const std::uint32_t merged =
        (old & ~mask) | ((static_cast<std::uint32_t>(value) << shift) & mask);
    store_u8(header + byte, static_cast<std::uint8_t>(merged));
    value >>= n;
    bit -= n;
    left -= n;
  }
}

}  // namespace softrnic::wire
