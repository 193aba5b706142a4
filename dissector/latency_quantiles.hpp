// SPDX-License-Identifier: GPL-2.0-or-later
// Quantiles of durations: exact for the first kExact of them, within 0.4 % beyond, in bounded
// memory.
//
// Beyond, durations are counted in buckets, 128 to each doubling, as in HdrHistogram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/instant.hpp"

namespace softrnic::dissector {

class LatencyQuantiles {
 public:
  static constexpr std::size_t kExact = 4096;

  void add(wire::Duration duration);

  std::uint64_t count() const { return count_; }
  wire::Duration smallest() const { return smallest_; }
  wire::Duration largest() const { return largest_; }

  // The smallest duration that at least the share `quantile` (0 to 1) does not exceed; zero when
  // there is none at all.
  wire::Duration at(double quantile) const;

 private:
  static constexpr unsigned kBits = 7;  // buckets to a doubling, as a power of two
  static constexpr std::size_t kRows = 64 - kBits;
  using Row = std::array<std::uint32_t, std::size_t{1} << kBits>;

  void count_in_bucket(std::uint64_t value);
  wire::Duration from_buckets(std::uint64_t rank) const;

  std::uint64_t count_ = 0;
  wire::Duration smallest_{};
  wire::Duration largest_{};
  mutable std::vector<std::uint64_t> exact_;
  mutable bool sorted_ = true;
  std::vector<Row> rows_;  // empty as long as exact_ holds all
  std::vector<std::uint64_t> row_counts_;
};

}  // namespace softrnic::dissector
