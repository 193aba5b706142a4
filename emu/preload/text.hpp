// SPDX-License-Identifier: BSD-3-Clause
// Text of bounded size in place: what does not fit is left out. No allocation, for it is used where
// a program may have called us from anywhere.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace softrnic::preload {

template <std::size_t kSize>
class BoundedText {
 public:
  BoundedText() = default;
  BoundedText(std::string_view text) { append(text); }  // NOLINT

  void clear() { size_ = 0; }
  void append(std::string_view text) {
    for (const char c : text) append(c);
  }
  void append(char c) {
    if (size_ + 1 < kSize) text_[size_++] = c;
    text_[size_] = '\0';
  }
  void append_decimal(std::uint64_t number) {
    std::array<char, 20> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    append(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  // Two digits.
  void append_hex(std::uint8_t byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    append(kDigits[byte >> 4]);
    append(kDigits[byte & 0xf]);
  }

  std::string_view view() const { return {text_.data(), size_}; }
  const char* c_str() const { return text_.data(); }  // terminated
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::array<char, kSize> text_{};
  std::size_t size_ = 0;
};

// A page, which is what a file of sysfs has at most.
using FileText = BoundedText<4096>;
using PathText = BoundedText<512>;

}  // namespace softrnic::preload
