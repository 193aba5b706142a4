// SPDX-License-Identifier: BSD-3-Clause
// Throughput over time: payload bytes of each direction in bins of equal length. When time goes on
// beyond the last bin, neighbouring bins are joined, so that their number stays bounded.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "wire/instant.hpp"

namespace softrnic::explain {

class Throughput {
 public:
  static constexpr std::size_t kMostBins = 256;
  static constexpr wire::Duration kFirstBin = std::chrono::microseconds(1);

  // `side`: who sent it. A time before the first one counts in the first bin.
  void add(wire::Instant at, std::size_t side, std::uint64_t bytes) {
    if (bins_[0].empty()) begin_ = at;
    std::size_t bin = at < begin_ ? 0 : static_cast<std::size_t>((at - begin_) / bin_);
    while (bin >= kMostBins) {
      widen();
      bin = static_cast<std::size_t>((at - begin_) / bin_);
    }
    if (bin >= bins_[0].size()) {
      bins_[0].resize(bin + 1);
      bins_[1].resize(bin + 1);
    }
    bins_[side][bin] += bytes;
  }

  wire::Instant begin() const { return begin_; }
  wire::Duration bin() const { return bin_; }
  // Bytes that side sent in each bin; both sides have as many.
  const std::vector<std::uint64_t>& bytes(std::size_t side) const { return bins_[side]; }

 private:
  void widen();

  wire::Instant begin_;
  wire::Duration bin_ = kFirstBin;
  std::array<std::vector<std::uint64_t>, 2> bins_;
};

}  // namespace softrnic::explain
