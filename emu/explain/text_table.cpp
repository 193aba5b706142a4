// SPDX-License-Identifier: BSD-3-Clause
#include "explain/text_table.hpp"

#include <algorithm>
#include <array>

namespace softrnic::explain {

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // no continuation byte
  }));
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(std::size_t indent, std::string_view title_style,
                            std::string_view style_end) const {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths[i] = text_width(columns_[i].title);
    bool empty = true;
    for (const auto& row : rows_) {
      widths[i] = std::max(widths[i], text_width(row[i]));
      empty = empty && (row[i].empty() || row[i] == "-");
    }
    if (!empty || rows_.empty()) shown.push_back(i);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text(indent, ' ');
    for (const std::size_t i : shown) {
      const std::string& cell = cell_of(i);
      const std::string fill(widths[i] - text_width(cell), ' ');
      text += columns_[i].align == Align::right ? fill + cell : cell + fill;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text(title_style);
  text += line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  text += style_end;
  text += '\n';
  for (const auto& row : rows_) {
    text += line([&](std::size_t i) -> const std::string& { return row[i]; });
    text += '\n';
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string all;
  std::string line = margin;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool first = line.size() == margin.size();
    if (!first && text_width(line) + 1 + text_width(word) > width) {
      all += line + '\n';
      line = margin;
    } else if (!first) {
      line += ' ';
    }
    line += word;
  }
  return all + line + '\n';
}

std::string bars(const std::vector<std::uint64_t>& values, std::size_t most, bool unicode) {
  if (values.empty()) return {};
  // As many values to a character as are needed to have no more than `most`.
  const std::size_t each = (values.size() + most - 1) / most;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % each == 0) sums.push_back(0);
    sums.back() += values[i];
  }
  static constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄",
                                                           "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> kAscii{" ", ".", ":", "-", "=",
                                                          "+", "*", "#", "@"};
  const std::uint64_t greatest = *std::max_element(sums.begin(), sums.end());
  std::string text;
  for (const std::uint64_t sum : sums) {
    const double share =
        greatest == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(greatest);
    const auto height = sum == 0 ? std::size_t{0} : static_cast<std::size_t>(share * 7) + 1;
    text += (unicode ? kBlocks : kAscii)[std::min<std::size_t>(height, 8)];
  }
  return text;
}

}  // namespace softrnic::explain
