// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/latency_quantiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace softrnic::dissector {

void LatencyQuantiles::add(wire::Duration duration) {
  duration = std::max(duration, wire::Duration::zero());
  smallest_ = count_ == 0 ? duration : std::min(smallest_, duration);
  largest_ = std::max(largest_, duration);
  ++count_;
  const auto value = static_cast<std::uint64_t>(duration.count());
  if (rows_.empty() && exact_.size() < kExact) {
    sorted_ = sorted_ && (exact_.empty() || exact_.back() <= value);
    exact_.push_back(value);
    return;
  }
  if (rows_.empty()) {
    rows_.resize(kRows + 1);
    row_counts_.resize(kRows + 1);
    for (const std::uint64_t earlier : exact_) count_in_bucket(earlier);
    exact_ = {};
  }
  count_in_bucket(value);
}

wire::Duration LatencyQuantiles::at(double quantile) const {
  if (count_ == 0) return {};
  const double wanted = std::ceil(quantile * static_cast<double>(count_));
  const auto rank =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max(wanted, 1.0)), 1, count_);
  if (!rows_.empty()) return std::clamp(from_buckets(rank), smallest_, largest_);
  if (!sorted_) {
    std::ranges::sort(exact_);
    sorted_ = true;
  }
  return wire::Duration(exact_[rank - 1]);
}

// Values below 128 have a bucket each, in row 0; row n holds those of n + 7 significant bits.
void LatencyQuantiles::count_in_bucket(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  const unsigned row = width <= kBits ? 0 : width - kBits;
  const std::uint64_t bucket =
      row == 0 ? value : (value >> (row - 1)) - (std::uint64_t{1} << kBits);
  ++rows_[row][bucket];
  ++row_counts_[row];
}

wire::Duration LatencyQuantiles::from_buckets(std::uint64_t rank) const {
  std::size_t row = 0;
  for (; row + 1 < row_counts_.size() && rank > row_counts_[row]; ++row) rank -= row_counts_[row];
  std::size_t bucket = 0;
  for (; bucket + 1 < rows_[row].size() && rank > rows_[row][bucket]; ++bucket) {
    rank -= rows_[row][bucket];
  }
  if (row == 0) return wire::Duration(bucket);
  const std::uint64_t width = std::uint64_t{1} << (row - 1);
  const std::uint64_t low = (bucket + (std::uint64_t{1} << kBits)) << (row - 1);
  return wire::Duration(low + width / 2);
}

}  // namespace softrnic::dissector
