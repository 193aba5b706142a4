// SPDX-License-Identifier: BSD-3-Clause
#include "explain/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

namespace softrnic::explain {

namespace {

constexpr std::uint64_t kPerOctave = std::uint64_t{1} << LatencyHistogram::kPrecisionBits;
constexpr std::size_t kFewBuckets = 2;  // what a histogram begins with

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
  return lower_bound_of(bucket.index << coarseness());
}

std::uint64_t LatencyHistogram::upper_bound(const Bucket& bucket) const {
  return lower_bound_of((bucket.index + 1) << coarseness());
}

// Within what is exact.
std::uint64_t LatencyHistogram::middle(const Bucket& bucket) const {
  const std::uint64_t low = lower_bound(bucket);
  return std::clamp(low + (upper_bound(bucket) - 1 - low) / 2, min_, max_);
}

double LatencyHistogram::error() const {
  // Half of a bucket's width over its lower bound.
  return std::ldexp(1.0, static_cast<int>(coarseness())) / static_cast<double>(2 * kPerOctave);
}

std::uint64_t LatencyHistogram::sum() const {
  if (table_ != nullptr) return table_->sum;
  return samples_ == kFewSamples ? min_ + max_ : min_;
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::buckets() const {
  if (table_ != nullptr) return {table_->begin(), table_->end()};
  std::vector<Bucket> buckets;
  if (samples_ != 0) buckets.push_back({index_of(min_), 1});
  if (samples_ == kFewSamples) {
    if (index_of(max_) != index_of(min_)) buckets.push_back({index_of(max_), 0});
    ++buckets.back().count;
  }
  return buckets;
}

LatencyHistogram::TablePointer LatencyHistogram::make_table(std::size_t room) {
  void* const block = analysis::BlockPool::allocate(sizeof(Table) + room * sizeof(Bucket));
  TablePointer table(new (block) Table());
  table->room = static_cast<std::uint16_t>(room);
  std::uninitialized_value_construct_n(table->begin(), room);
  return table;
}

// The first two buckets are taken from the allowance with the first sample.
void LatencyHistogram::begin_table(HistogramAllowance& allowance) {
  TablePointer table = make_table(kFewBuckets);
  table->sum = samples_ == 0 ? 0 : sum();
  if (samples_ == 0) allowance.buckets -= std::min(kFewBuckets, allowance.buckets);
  for (const Bucket& bucket : buckets()) table->begin()[table->size++] = bucket;
  table_ = std::move(table);
}

void LatencyHistogram::add(std::uint64_t ns, HistogramAllowance& allowance) {
  if (samples_ == 0) allowance.buckets -= std::min(kFewBuckets, allowance.buckets);
  if (samples_ == kFewSamples && table_ == nullptr) begin_table(allowance);
  min_ = samples_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  ++samples_;
  if (table_ == nullptr) return;
  table_->sum += ns;
  count(index_of(ns), 1, allowance);
}

void LatencyHistogram::count(std::uint32_t fine_index, std::uint64_t times,
                             HistogramAllowance& allowance) {
  const auto saturating = [&](Bucket& bucket) {
    constexpr std::uint64_t kMost = 0xffffffff;
    bucket.count = static_cast<std::uint32_t>(std::min(bucket.count + times, kMost));
  };
  while (true) {
    Table& table = *table_;
    const std::uint32_t index = fine_index >> table.coarseness;
    if (table.last < table.size && table[table.last].index == index) {
      return saturating(table[table.last]);
    }
    Bucket* const at =
        std::lower_bound(table.begin(), table.end(), index,
                         [](const Bucket& bucket, std::uint32_t i) { return bucket.index < i; });
    const auto position = at - table.begin();
    if (at != table.end() && at->index == index) {
      table.last = static_cast<std::uint16_t>(position);
      return saturating(*at);
    }
    if (!make_room(allowance)) continue;  // coarser now: its place is another one
    Table& roomy = *table_;
    Bucket* const place = roomy.begin() + position;
    std::copy_backward(place, roomy.end(), roomy.end() + 1);
    ++roomy.size;
    roomy.last = static_cast<std::uint16_t>(position);
    *place = {index, 0};
  }
}

// False when there was no room but by joining buckets.
bool LatencyHistogram::make_room(HistogramAllowance& allowance) {
  const std::size_t size = table_->size;
  if (size < table_->room) return true;
  const bool must = size < kLeastBuckets || table_->coarseness == kCoarsest;
  if (must || size <= allowance.buckets) {
    allowance.buckets -= std::min(size, allowance.buckets);
    TablePointer larger = make_table(2 * size);
    larger->sum = table_->sum;
    larger->coarseness = table_->coarseness;
    larger->size = table_->size;
    std::copy(table_->begin(), table_->end(), larger->begin());
    table_ = std::move(larger);
    return true;
  }
  coarsen();
  return false;
}

void LatencyHistogram::coarsen() {
  Table& table = *table_;
  ++table.coarseness;
  std::uint16_t kept = 0;
  for (const Bucket& bucket : table) {
    const std::uint32_t index = bucket.index >> 1;
    if (kept != 0 && table[kept - 1u].index == index) {
      const std::uint64_t sum = std::uint64_t{table[kept - 1u].count} + bucket.count;
      table[kept - 1u].count = static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, 0xffffffff));
    } else {
      table[kept++] = {index, bucket.count};
    }
  }
  table.size = kept;
  table.last = 0;
}

std::uint64_t LatencyHistogram::quantile(double share) const {
  if (samples_ == 0) return 0;
  const double wanted = std::ceil(share * static_cast<double>(samples_));
  const auto rank =
      std::clamp<std::uint64_t>(wanted <= 1 ? 1 : static_cast<std::uint64_t>(wanted), 1, samples_);
  if (rank == samples_) return max_;
  if (table_ == nullptr) return middle({index_of(min_), 1});  // the first of two
  std::uint64_t seen = 0;
  for (const Bucket& bucket : *table_) {
    seen += bucket.count;
    if (seen >= rank) return middle(bucket);
  }
  return max_;
}

void LatencyHistogram::merge(const LatencyHistogram& other, HistogramAllowance& allowance) {
  if (other.table_ == nullptr) {
    if (other.samples_ != 0) add(other.min_, allowance);
    if (other.samples_ == kFewSamples) add(other.max_, allowance);
    return;
  }
  if (table_ == nullptr) begin_table(allowance);
  min_ = samples_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  table_->sum += other.table_->sum;
  samples_ += other.samples_;
  while (table_->coarseness < other.table_->coarseness) coarsen();
  for (const Bucket& bucket : *other.table_) {
    count(bucket.index << other.table_->coarseness, bucket.count, allowance);
  }
}

}  // namespace softrnic::explain
