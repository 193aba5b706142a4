// SPDX-License-Identifier: BSD-3-Clause
#include "craft/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace softrnic::craft {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

class WordReader {
 public:
  WordReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  wire::Expected<std::vector<Line>, Complaint> read() {
    std::vector<Line> lines(1);
    while (complaint_.empty()) {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      if (at_ == text_.size() || text_[at_] == '#') break;
      if (text_[at_] == ';') {
        ++at_;
        lines.emplace_back();
        continue;
      }
      lines.back().words.push_back(read_word());
    }
    if (!complaint_.empty()) return wire::Unexpected{Complaint{where_, column_, complaint_}};
    std::erase_if(lines, [](const Line& line) { return line.words.empty(); });
    for (Line& line : lines) line.where = where_;
    return lines;
  }

 private:
  Word read_word() {
    Word word;
    word.column = static_cast<std::uint32_t>(at_ + 1);
    std::string* part = &word.text;
    while (complaint_.empty() && at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ';') {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        word.quoted = true;
        read_quoted(c, *part);
      } else if (c == '=' && !word.value && !word.quoted) {
        ++at_;
        part = &word.value.emplace();
      } else {
        part->push_back(c);
        ++at_;
      }
    }
    return word;
  }

  void read_quoted(char quote, std::string& out) {
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\') {
        if (!read_escape(out)) return;
      } else {
        out.push_back(text_[at_++]);
      }
    }
    if (at_ == text_.size())
      return complain(start, fmt::format("the quote {} is not closed", quote));
    ++at_;
  }

  bool read_escape(std::string& out) {
    const std::size_t start = at_++;
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    if (c == 'n') out.push_back('\n');
    if (c == 't') out.push_back('\t');
    if (c == '\\' || c == '"') out.push_back(c);
    if (c == 'n' || c == 't' || c == '\\' || c == '"') return true;
    const std::string_view digits = text_.substr(at_, 2);
    unsigned byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (c != 'x' || error != std::errc{} || end != digits.data() + 2) {
      complain(start, "a backslash is followed by n, t, x and two digits, \" or another backslash");
      return false;
    }
    out.push_back(static_cast<char>(byte));
    at_ += 2;
    return true;
  }

  void complain(std::size_t at, std::string message) {
    column_ = static_cast<std::uint32_t>(at + 1);
    complaint_ = std::move(message);
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::string complaint_;
  std::uint32_t column_ = 0;
};

// Edits that turn one word into the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string Word::to_string() const {
  if (!value) return quoted ? craft::quoted(text) : text;
  return text + "=" + (quoted ? craft::quoted(*value) : *value);
}

std::string Line::to_string() const {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + word.to_string();
  return text;
}

std::string Complaint::to_string() const {
  if (column == 0) return where.empty() ? message : fmt::format("{}: {}", where, message);
  return fmt::format("{}, column {}: {}", where, column, message);
}

Complaint complaint_of(const std::string& where, const Word& word, std::string message) {
  return {word.line == 0 ? where : fmt::format("line {}", word.line), word.column,
          std::move(message)};
}

wire::Expected<std::vector<Line>, Complaint> read_lines(std::string_view text,
                                                        const std::string& where) {
  return WordReader(text, where).read();
}

std::string quoted(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // Two letters exchanged are two edits.
  std::size_t least = word.size() < 4 ? 2 : std::max<std::size_t>(word.size() / 3, 2) + 1;
  if (word.size() > 64) return best;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = distance(word, candidate);
    if (edits >= least) continue;
    least = edits;
    best = candidate;
  }
  return best;
}

}  // namespace softrnic::craft
