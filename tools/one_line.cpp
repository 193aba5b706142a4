// SPDX-License-Identifier: BSD-3-Clause
#include "one_line.hpp"

#include <fmt/format.h>

namespace softrnic::tools {
namespace {

constexpr std::size_t kBeginning = 600;
constexpr std::size_t kEnd = 300;

std::string without_control_bytes(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return shown;
}

}  // namespace

std::string one_line(std::string_view text) {
  if (text.size() <= kLongestLine) return without_control_bytes(text);
  return fmt::format("{} [{} bytes more] {}", without_control_bytes(text.substr(0, kBeginning)),
                     text.size() - kBeginning - kEnd,
                     without_control_bytes(text.substr(text.size() - kEnd)));
}

}  // namespace softrnic::tools
