// SPDX-License-Identifier: BSD-3-Clause
// A histogram of latencies in buckets that widen with the value, as HdrHistogram has them: 64 to
// each power of two, so that a quantile is told with an error below 0.8 % in a few bytes for each
// latency that differs.
//
// Many histograms share one allowance of memory. When it is used up a histogram that needs more
// room joins neighbouring buckets instead; its error() tells how coarse it is then.
//
// Two samples, and many connections have no more of an operation, are told by the least and the
// greatest one alone; buckets are made for the third.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/block_pool.hpp"

namespace softrnic::explain {

// How many more buckets may be kept, by all histograms that share it.
struct HistogramAllowance {
  std::size_t buckets = std::size_t{1} << 21;
};

class LatencyHistogram {
 public:
  static constexpr unsigned kPrecisionBits = 6;  // 64 buckets to a power of two
  // Every histogram may have as many, whatever the allowance. Joined as far as possible there is a
  // bucket to each power of two, and more than that are made all the same.
  static constexpr std::size_t kLeastBuckets = 8;
  static constexpr std::uint32_t kCoarsest = kPrecisionBits;

  struct Bucket {
    std::uint32_t index = 0;  // of the bucket that begins at lower_bound(index << coarseness)
    std::uint32_t count = 0;
  };

  void add(std::uint64_t ns, HistogramAllowance& allowance);

  std::uint64_t samples() const { return samples_; }
  std::uint64_t min() const { return min_; }
  std::uint64_t max() const { return max_; }
  double mean() const {
    return samples_ == 0 ? 0 : static_cast<double>(sum()) / static_cast<double>(samples_);
  }
  // The latency that this share of the samples, 0 to 1, does not exceed: the middle of its bucket,
  // within min() and max(), which are exact. 0 without samples.
  std::uint64_t quantile(double share) const;
  // The greatest relative error of a quantile; below 64 ns an absolute one of 32 ns at most.
  double error() const;

  std::vector<Bucket> buckets() const;  // ascending
  std::uint64_t lower_bound(const Bucket& bucket) const;
  std::uint64_t upper_bound(const Bucket& bucket) const;  // the first value beyond it

  // A sample will be added soon.
  void prefetch() const {
    if (table_ != nullptr) __builtin_prefetch(table_.get());
  }

  // Adds another's samples, at the coarser resolution of the two.
  void merge(const LatencyHistogram& other, HistogramAllowance& allowance);

  static std::uint32_t index_of(std::uint64_t ns);
  static std::uint64_t lower_bound_of(std::uint32_t index);

 private:
  static constexpr std::uint32_t kFewSamples = 2;

  // In front of its buckets, in one block with them.
  struct Table {
    std::uint64_t sum = 0;  // of all samples
    std::uint16_t size = 0;
    std::uint16_t room = 0;
    std::uint16_t last = 0;  // where the newest sample went
    std::uint16_t coarseness = 0;

    Bucket* begin() { return reinterpret_cast<Bucket*>(this + 1); }
    const Bucket* begin() const { return reinterpret_cast<const Bucket*>(this + 1); }
    Bucket* end() { return begin() + size; }
    const Bucket* end() const { return begin() + size; }
    Bucket& operator[](std::size_t i) { return begin()[i]; }
  };
  using TablePointer = std::unique_ptr<Table, analysis::PoolDelete>;

  static TablePointer make_table(std::size_t room);
  void begin_table(HistogramAllowance& allowance);
  std::uint64_t sum() const;
  std::uint16_t coarseness() const {
    return table_ == nullptr ? std::uint16_t{0} : table_->coarseness;
  }
  std::uint64_t middle(const Bucket& bucket) const;
  void count(std::uint32_t fine_index, std::uint64_t times, HistogramAllowance& allowance);
  bool make_room(HistogramAllowance& allowance);
  void coarsen();

  TablePointer table_;  // null: of few samples
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
  std::uint32_t samples_ = 0;  // there are no more than frame numbers
};

}  // namespace softrnic::explain
