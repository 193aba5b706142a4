// SPDX-License-Identifier: GPL-2.0-or-later
// One direction of a stream as tables name and number it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "analysis/analyzer.hpp"

namespace softrnic::dissector {

struct Direction {
  std::uint32_t stream = 0;
  std::uint8_t sender = 0;

  Direction reverse() const { return {stream, static_cast<std::uint8_t>(1 - sender)}; }
  std::uint64_t key() const { return std::uint64_t{stream} * 2 + sender; }
};

// "10.0.0.1 QP 0x11"; "QP ?" when the capture does not tell.
std::string side_name(const analysis::StreamSide& side);

// The row of each key, in the order in which they were first asked for.
class RowNumbers {
 public:
  // The row, and whether it is new.
  std::pair<std::size_t, bool> row(std::uint64_t key) {
    const auto [place, added] = rows_.try_emplace(key, rows_.size());
    return {place->second, added};
  }

 private:
  std::unordered_map<std::uint64_t, std::size_t> rows_;
};

}  // namespace softrnic::dissector
