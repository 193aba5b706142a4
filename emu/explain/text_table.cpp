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

TextTable::TextTable(std::vector<Column> columns)
    : columns_(std::move(columns)), shown_(columns_.size()) {
  for (const Column& column : columns_) widths_.push_back(text_width(column.title));
}

void TextTable::add(std::initializer_list<std::string_view> cells) {
  std::size_t size = cells.size();
  for (const std::string_view cell : cells) size += cell.size();
  if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < size) {
    pieces_.emplace_back().reserve(std::max(size, kPiece));
  }
  Piece& piece = pieces_.back();
  std::size_t i = 0;
  for (const std::string_view cell : cells) {
    widths_[i] = std::max(widths_[i], text_width(cell));
    if (!cell.empty() && cell != "-") shown_[i] = true;
    piece += cell;
    piece += '\0';
    ++i;
  }
}

std::string_view TextTable::add_line(std::string& line, std::string_view cells) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view cell = cells.substr(0, cells.find('\0'));
    cells.remove_prefix(cell.size() + 1);
    if (!shown_[i] && !pieces_.empty()) continue;
    const std::size_t fill = widths_[i] - text_width(cell);
    if (columns_[i].align == Align::right) line.append(fill, ' ');
    line += cell;
    if (columns_[i].align == Align::left) line.append(fill, ' ');
    line += "  ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return cells;
}

void TextTable::write(const TextSink& sink, std::size_t indent, std::string_view title_style,
                      std::string_view style_end) const {
  std::string titles;
  for (const Column& column : columns_) (titles += column.title) += '\0';
  std::string line(title_style);
  line.append(indent, ' ');
  add_line(line, titles);
  line += style_end;
  line += '\n';
  sink(line);
  for (const std::string_view piece : pieces_) {
    for (std::string_view cells = piece; !cells.empty();) {
      line.assign(indent, ' ');
      cells = add_line(line, cells);
      line += '\n';
      sink(line);
    }
  }
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
