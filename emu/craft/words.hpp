// SPDX-License-Identifier: BSD-3-Clause
// The words of a packet description: what stands between blanks, with its place, so that a
// complaint can point at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/expected.hpp"

namespace softrnic::craft {

// "ack", "psn=100", "payload='two words'".
struct Word {
  std::string text;                  // before the '=', or all of it
  std::optional<std::string> value;  // behind it, without its quotes
  bool quoted = false;               // the value stood in quotes, or the word when it has none
  std::uint32_t column = 0;          // from 1; 0: not known
  std::uint32_t line = 0;            // where it is not on the line of the others

  // As it may be written again.
  std::string to_string() const;
  friend bool operator==(const Word&, const Word&) = default;
};

struct Line {
  std::string where;  // "line 3", "argument 2", "packet 4"
  std::vector<Word> words;

  std::string to_string() const;
};

// What is wrong with a description, and where.
struct Complaint {
  std::string where;
  std::uint32_t column = 0;  // 0: none
  std::string message;

  // "line 3, column 7: MESSAGE".
  std::string to_string() const;
};

Complaint complaint_of(const std::string& where, const Word& word, std::string message);

// A line of text: none or several Lines, which ';' separates. '#' begins a comment. In double
// quotes \n, \t, \\, \" and \xNN stand for bytes; in single quotes everything is itself.
wire::Expected<std::vector<Line>, Complaint> read_lines(std::string_view text,
                                                        const std::string& where);

std::string quoted(std::string_view bytes);

// Of `candidates` the one that `word` most likely means; empty when none is near.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace softrnic::craft
