// SPDX-License-Identifier: BSD-3-Clause
// Bytes for tests: from hexadecimal text, and at random from a seed that failures show.
#pragma once

#include <cctype>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "wire/bytes.hpp"

namespace softrnic::wire::testing {

using Bytes = std::vector<std::byte>;

// Hexadecimal digits; everything else between them is skipped.
inline Bytes from_hex(std::string_view text) {
  Bytes bytes;
  int high = -1;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  template <class T>
  T number() {
    return static_cast<T>(engine_());
  }
  // 0 to limit - 1.
  std::size_t below(std::size_t limit) { return engine_() % limit; }
  Bytes bytes(std::size_t size) {
    Bytes out(size);
    fill(out);
    return out;
  }
  void fill(ByteSpan out) {
    for (std::byte& b : out) b = number<std::byte>();
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace softrnic::wire::testing
