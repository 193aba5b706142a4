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

namespace field_detail {

// Reads the bytes a field touches, bit by bit of the way: for widths no header has.
constexpr std::uint64_t load_bytes(const std::byte* p, std::uint32_t count) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < count; ++i) value = value << 8 | load_u8(p + i);
  return value;
}

// Writes the low `width` bits of `value` so that they end before bit `end`.
constexpr void store_bits(std::byte* header, std::uint32_t end, std::uint32_t width,
                          std::uint64_t value) {
  while (width > 0) {
    const std::uint32_t byte = (end - 1) / 8;
    const std::uint32_t shift = (8 - end % 8) % 8;
    const std::uint32_t n = width < 8 - shift ? width : 8 - shift;
    const std::uint32_t mask = ((1u << n) - 1) << shift;
    const std::uint32_t old = load_u8(header + byte);
    const std::uint32_t merged =
        (old & ~mask) | ((static_cast<std::uint32_t>(value) << shift) & mask);
    store_u8(header + byte, static_cast<std::uint8_t>(merged));
    value >>= n;
    end -= n;
    width -= n;
  }
}

}  // namespace field_detail

// Reads a field; folds to a few instructions when `field` is a constant, which is why it must be
// inlined and spells out the byte counts that headers have.
[[gnu::always_inline]] constexpr std::uint64_t get(const std::byte* header, const Field& field) {
  const std::uint32_t first = field.bit_offset / 8;
  const std::uint32_t end_bit = field.bit_offset + field.bit_width;
  const std::uint32_t count = (end_bit + 7) / 8 - first;
  const std::byte* p = header + first;
  std::uint64_t value = 0;
  switch (count) {
    case 1:
      value = load_u8(p);
      break;
    case 2:
      value = load_be16(p);
      break;
    case 3:
      value = load_be24(p);
      break;
    case 4:
      value = load_be32(p);
      break;
    case 8:
      value = load_be64(p);
      break;
    default:
      value = field_detail::load_bytes(p, count);
  }
  value >>= (8 - end_bit % 8) % 8;
  return field.bit_width == 64 ? value : value & ((std::uint64_t{1} << field.bit_width) - 1);
}

// Writes a field and leaves the bits around it as they are. 64-bit fields must be byte-aligned.
[[gnu::always_inline]] constexpr void put(std::byte* header, const Field& field,
                                          std::uint64_t value) {
  std::byte* p = header + field.bit_offset / 8;
  const bool aligned = field.bit_offset % 8 == 0;
  if (aligned && field.bit_width == 8) {
    store_u8(p, static_cast<std::uint8_t>(value));
  } else if (aligned && field.bit_width == 16) {
    store_be16(p, static_cast<std::uint16_t>(value));
  } else if (aligned && field.bit_width == 24) {
    store_be24(p, static_cast<std::uint32_t>(value));
  } else if (aligned && field.bit_width == 32) {
    store_be32(p, static_cast<std::uint32_t>(value));
  } else if (aligned && field.bit_width == 64) {
    store_be64(p, value);
  } else if (const std::uint32_t end = field.bit_offset % 8 + field.bit_width; end <= 8) {
    const std::uint32_t mask = ((1u << field.bit_width) - 1) << (8 - end);
    const auto bits = static_cast<std::uint32_t>(value) << (8 - end);
    store_u8(p, static_cast<std::uint8_t>((load_u8(p) & ~mask) | (bits & mask)));
  } else {
    field_detail::store_bits(header, field.bit_offset + field.bit_width, field.bit_width, value);
  }
}

}  // namespace softrnic::wire
