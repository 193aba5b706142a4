// SPDX-License-Identifier: BSD-3-Clause
#include "replay/timing_error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace softrnic::replay {

void TimingError::on_sent(wire::Duration due, wire::Duration sent) {
  const wire::Duration lateness = sent - due;
  latest_ = std::max(latest_, lateness);
  if (lateness > kLate) ++late_;
  if (frames_++ != 0) {
    const std::int64_t error = ((sent - last_sent_) - (due - last_due_)).count();
    const auto size = static_cast<std::uint64_t>(error < 0 ? -error : error);
    ++buckets_[bucket_of(size)];
    ++gaps_;
    sum_ += static_cast<double>(size);
    worst_ = std::max(worst_, wire::Duration(static_cast<std::int64_t>(size)));
  }
  last_due_ = due;
  last_sent_ = sent;
}

wire::Duration TimingError::percentile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(gaps_)));
  std::uint64_t seen = 0;
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen == 0 || seen < wanted) continue;
    const wire::Duration end(static_cast<std::int64_t>(upper_end(bucket)));
    return std::min(end, worst_);
  }
  return worst_;
}

wire::Duration TimingError::mean() const {
  if (gaps_ == 0) return {};
  return wire::Duration(std::llround(sum_ / static_cast<double>(gaps_)));
}

// Values below kSteps have a bucket each; from there on a power of two has kSteps of them.
std::uint32_t TimingError::bucket_of(std::uint64_t nanoseconds) {
  if (nanoseconds < kSteps) return static_cast<std::uint32_t>(nanoseconds);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(nanoseconds)) -
                     static_cast<std::uint32_t>(std::bit_width(kSteps));
  const std::uint32_t bucket = kSteps * shift + static_cast<std::uint32_t>(nanoseconds >> shift);
  return std::min(bucket, kBuckets - 1);
}

std::uint64_t TimingError::upper_end(std::uint32_t bucket) {
  if (bucket < 2 * kSteps) return bucket;
  const std::uint32_t shift = bucket / kSteps - 1;
  const std::uint64_t mantissa = bucket - kSteps * shift;
  return ((mantissa + 1) << shift) - 1;
}

}  // namespace softrnic::replay
