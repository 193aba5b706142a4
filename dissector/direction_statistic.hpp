// SPDX-License-Identifier: GPL-2.0-or-later
// A table with one row for each direction of each stream, and a total.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dissector/direction.hpp"
#include "dissector/statistic.hpp"

namespace softrnic::dissector {

// `Counts` is what a row gathers: it has a Direction `direction` and adds up by add(const Counts&);
// make_row(Row beginning, const Counts&), found beside it, puts its cells behind stream, sender and
// receiver.
template <class Counts>
class DirectionStatistic : public Statistic {
 public:
  std::size_t row_count() const override { return rows_.size(); }

  Row row(std::size_t index, const analysis::Analyzer& analyzer) const override {
    const Direction direction = rows_[index].direction;
    const analysis::Stream& stream = analyzer.stream(direction.stream);
    return make_row(
        {Cell::of(direction.stream), Cell::of(side_name(stream.sides[direction.sender])),
         Cell::of(side_name(stream.sides[direction.reverse().sender]))},
        rows_[index]);
  }

  Row total() const override {
    Counts all;
    for (const Counts& row : rows_) all.add(row);
    return make_row(
        {Cell::of(std::string("all")), Cell::of(std::string()), Cell::of(std::string())}, all);
  }

 protected:
  // The direction's row, made when there is none, which counts as changed.
  Counts& row_of(Direction direction, std::vector<std::size_t>& changed) {
    const auto [number, added] = numbers_.row(direction.key());
    if (added) {
      rows_.emplace_back();
      rows_.back().direction = direction;
    }
    changed.push_back(number);
    return rows_[number];
  }

 private:
  RowNumbers numbers_;
  std::vector<Counts> rows_;
};

}  // namespace softrnic::dissector
