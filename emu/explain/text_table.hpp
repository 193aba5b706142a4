// SPDX-License-Identifier: BSD-3-Clause
// Text for a terminal: tables whose columns are as wide as what stands in them, wrapped sentences,
// bars, and colours where they are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/block_pool.hpp"
#include "analysis/message_store.hpp"

namespace softrnic::explain {

// Takes text piece by piece.
using TextSink = std::function<void(std::string_view)>;

class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };

  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);

  // A cell for each column, without a NUL in it.
  void add(std::initializer_list<std::string_view> cells);
  // Lines that begin with `indent` spaces, the titles first. A column in which nothing but "-" or
  // "" stands is left out. `title_style` and its end go around the line of titles.
  void write(const TextSink& sink, std::size_t indent, std::string_view title_style = {},
             std::string_view style_end = {}) const;

 private:
  // Appends cells that each end in a NUL as one line; returns what follows them.
  std::string_view add_line(std::string& line, std::string_view cells) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<bool> shown_;
  // Of all rows, one behind the other, each cell with a NUL at its end. In pieces that never grow,
  // each of whole rows: there may be a hundred thousand rows, and one string of them would take
  // three times its size while it grows. The analysis' messages are gone by the time a table is
  // made, and the pieces take the place of their pages.
  using Piece = std::basic_string<char, std::char_traits<char>, analysis::PoolAllocator<char>>;
  static constexpr std::size_t kPiece = analysis::MessageStore::kPageBytes - 1;  // and a NUL
  std::vector<Piece> pieces_;
};

// Broken between words so that no line is longer than `width`, each indented.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

// One character for each value, as high as the value is beside the greatest one.
std::string bars(const std::vector<std::uint64_t>& values, std::size_t most, bool unicode);

// Characters, not bytes, of UTF-8.
std::size_t text_width(std::string_view text);

}  // namespace softrnic::explain
