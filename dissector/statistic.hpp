// SPDX-License-Identifier: GPL-2.0-or-later
// A table made of what the tap "roce" tells: printed by `tshark -z roce,NAME[,FILTER]`, shown by
// Wireshark under the menu Statistics.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/analyzer.hpp"
#include "dissector/tap.hpp"

namespace softrnic::dissector {

// Decides how a number is printed, and the unit a column's title bears where it is shown bare.
enum class Unit : unsigned char {
  text,
  count,
  bytes,     // in bytes
  duration,  // in microseconds
  time,      // in seconds
  rate,      // in bits per second
  share,     // 0 to 1
  frequency  // per second
};

struct Column {
  const char* title;
  Unit unit;
};

struct Cell {
  std::string text;
  double number = 0;
  bool empty = true;

  static Cell nothing() { return {}; }
  static Cell of(std::string words) { return {std::move(words), 0, false}; }
  template <typename Number>
  static Cell of(Number value) requires std::is_arithmetic_v<Number> {
    return {{}, static_cast<double>(value), false};
  }
};

using Row = std::vector<Cell>;

// "64 KiB", "41.2 us", "812 Mbit/s", "1.25 %"; "-" for an empty cell.
std::string to_text(const Cell& cell, Unit unit);

// What a table gathers. Packets come in the order of the capture, and only those that pass the
// listener's filter; `record` is never null.
class Statistic {
 public:
  virtual ~Statistic() = default;

  // Appends the rows that the packet changed or added to `changed`.
  virtual void add(const TapPacket& packet, const analysis::Analyzer& analyzer,
                   std::vector<std::size_t>& changed) = 0;
  // No packet comes for now: what the analyzer learned since a row was last looked at counts too.
  virtual void settle(const analysis::Analyzer&) {}

  virtual std::size_t row_count() const = 0;
  virtual Row row(std::size_t index, const analysis::Analyzer& analyzer) const = 0;
  // A last line below all others; empty: this table has none.
  virtual Row total() const { return {}; }
};

struct StatisticKind {
  const char* name;     // "streams", for -z roce,streams
  const char* title;    // "Streams"
  const char* explain;  // a line below the title, or null
  std::span<const Column> columns;
  std::unique_ptr<Statistic> (*make)();
};

// Registers the table under -z roce,NAME and in the menu. `kind` shall live as long as the program.
void register_statistic(const StatisticKind& kind);

// The whole table as lines of text, columns aligned. Without an analyzer, as when the analysis is
// switched off, a line that says so.
std::string print(const StatisticKind& kind, Statistic& statistic,
                  const analysis::Analyzer* analyzer, const char* filter);

}  // namespace softrnic::dissector
