// SPDX-License-Identifier: BSD-3-Clause
#include "one_line.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace softrnic::tools {
namespace {

constexpr std::size_t kBeginning = 600;
constexpr std::size_t kEnd = 300;

unsigned byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Bytes of the character that a text begins with; 0: none that a terminal should be shown. That is
// UTF-8 in its shortest form (RFC 3629), without control characters, among them those of C1
// (U+0080 to U+009F), which terminals obey as well.
std::size_t shown_character(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool control = first == 0xc2 && second < 0xa0;
  const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return control || too_long || surrogate || beyond ? 0 : size;
}

std::string shown(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = shown_character(text);
    if (size == 0) {
      shown += fmt::format("\\x{:02x}", byte_at(text, 0));
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return shown;
}

}  // namespace

std::string one_line(std::string_view text) {
  if (text.size() <= kLongestLine) return shown(text);
  return fmt::format("{} [{} bytes more] {}", shown(text.substr(0, kBeginning)),
                     text.size() - kBeginning - kEnd, shown(text.substr(text.size() - kEnd)));
}

}  // namespace softrnic::tools
