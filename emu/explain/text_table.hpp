// SPDX-License-Identifier: BSD-3-Clause
// Text for a terminal: tables whose columns are as wide as what stands in them, wrapped sentences,
// bars, and colours where they are wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softrnic::explain {

class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };

  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);

  void add(std::vector<std::string> cells);
  // Lines that begin with `indent` spaces, the titles first. A column in which nothing but "-" or
  // "" stands is left out. `title_style` and its end go around the line of titles.
  std::string text(std::size_t indent, std::string_view title_style = {},
                   std::string_view style_end = {}) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Broken between words so that no line is longer than `width`, each indented.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

// One character for each value, as high as the value is beside the greatest one.
std::string bars(const std::vector<std::uint64_t>& values, std::size_t most, bool unicode);

// Characters, not bytes, of UTF-8.
std::size_t text_width(std::string_view text);

}  // namespace softrnic::explain
