// SPDX-License-Identifier: BSD-3-Clause
#include "explain/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace softrnic::explain {

namespace {

constexpr std::uint64_t kPerOctave = std::uint64_t{1} << LatencyHistogram::kPrecisionBits;

}  // namespace

// Values below 64 have a bucket each; from there on the six bits behind the highest one tell.
std::uint32_t LatencyHistogram::index_of(std::uint64_t ns) {
  if (ns < kPerOctave) return static_cast<std::uint32_t>(ns);
  const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - kPrecisionBits - 1;
  return static_cast<std::uint32_t>((shift + 1) * kPerOctave + ((ns >> shift) - kPerOctave));
}

std::uint64_t LatencyHistogram::lower_bound_of(std::uint32_t index) {
  if (index < kPerOctave) return index;
  const auto shift = static_cast<unsigned>(index / kPerOctave - 1);
  if (shift + kPrecisionBits >= 64) return ~std::uint64_t{0};
  return (kPerOctave + index % kPerOctave) << shift;
}

std::uint64_t LatencyHistogram::lower_bound(const Bucket& bucket) const {
  return lower_bound_of(bucket.index << coarseness_);
}

std::uint64_t LatencyHistogram::upper_bound(const Bucket& bucket) const {
  return lower_bound_of((bucket.index + 1) << coarseness_);
}

double LatencyHistogram::error() const {
  // Half of a bucket's width over its lower bound.
  return std::ldexp(1.0, static_cast<int>(coarseness_)) / static_cast<double>(2 * kPerOctave);
}

void LatencyHistogram::add(std::uint64_t ns, HistogramAllowance& allowance) {
  min_ = samples_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += ns;
  ++samples_;
  count(index_of(ns), 1, allowance);
}

void LatencyHistogram::count(std::uint32_t fine_index, std::uint64_t times,
                             HistogramAllowance& allowance) {
  const auto saturating = [&](Bucket& bucket) {
    constexpr std::uint64_t kMost = 0xffffffff;
    bucket.count = static_cast<std::uint32_t>(std::min(bucket.count + times, kMost));
  };
  while (true) {
    const std::uint32_t index = fine_index >> coarseness_;
    if (last_ < buckets_.size() && buckets_[last_].index == index) {
      return saturating(buckets_[last_]);
    }
    const auto at =
        std::lower_bound(buckets_.begin(), buckets_.end(), index,
                         [](const Bucket& bucket, std::uint32_t i) { return bucket.index < i; });
    const auto position = at - buckets_.begin();
    if (at != buckets_.end() && at->index == index) {
      last_ = static_cast<std::uint16_t>(position);
      return saturating(*at);
    }
    if (!make_room(allowance)) continue;  // coarser now: its place is another one
    last_ = static_cast<std::uint16_t>(position);
    buckets_.insert(buckets_.begin() + position, Bucket{index, 0});
  }
}

// False when there was no room but by joining buckets.
bool LatencyHistogram::make_room(HistogramAllowance& allowance) {
  if (buckets_.size() < buckets_.capacity()) return true;
  const std::size_t more = buckets_.empty() ? 2 : buckets_.size();
  const bool must = buckets_.size() < kLeastBuckets || coarseness_ == kCoarsest;
  if (must || more <= allowance.buckets) {
    allowance.buckets -= std::min(more, allowance.buckets);
    buckets_.reserve(buckets_.size() + more);
    return true;
  }
  coarsen();
  return false;
}

void LatencyHistogram::coarsen() {
  ++coarseness_;
  std::size_t kept = 0;
  for (const Bucket& bucket : buckets_) {
    const std::uint32_t index = bucket.index >> 1;
    if (kept != 0 && buckets_[kept - 1].index == index) {
      const std::uint64_t sum = std::uint64_t{buckets_[kept - 1].count} + bucket.count;
      buckets_[kept - 1].count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, 0xffffffff));
    } else {
      buckets_[kept++] = {index, bucket.count};
    }
  }
  buckets_.resize(kept);
  last_ = 0;
}

std::uint64_t LatencyHistogram::quantile(double share) const {
  if (samples_ == 0) return 0;
  const double wanted = std::ceil(share * static_cast<double>(samples_));
  const auto rank =
      std::clamp<std::uint64_t>(wanted <= 1 ? 1 : static_cast<std::uint64_t>(wanted), 1, samples_);
  if (rank == samples_) return max_;
  std::uint64_t seen = 0;
  for (const Bucket& bucket : buckets_) {
    seen += bucket.count;
    if (seen < rank) continue;
    const std::uint64_t low = lower_bound(bucket);
    return std::clamp(low + (upper_bound(bucket) - 1 - low) / 2, min_, max_);
  }
  return max_;
}

void LatencyHistogram::merge(const LatencyHistogram& other, HistogramAllowance& allowance) {
  if (other.samples_ == 0) return;
  min_ = samples_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  samples_ += other.samples_;
  while (coarseness_ < other.coarseness_) coarsen();
  for (const Bucket& bucket : other.buckets_) {
    count(bucket.index << other.coarseness_, bucket.count, allowance);
  }
}

}  // namespace softrnic::explain
