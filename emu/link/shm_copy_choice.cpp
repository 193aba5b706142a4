// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_copy_choice.hpp"

namespace softrnic::link::shm {

namespace {

using Way = CopyChoice::Way;

constexpr std::uint32_t kTimedEvery = 16;
// Past the caches, one that tries the other way is dear.
constexpr std::uint32_t kTriedEvery = 64;
// A copy may be interrupted: so many have to agree.
constexpr std::uint32_t kAgreeing = 4;
// 8 GB/s. A shared cache does 20 and more, two sockets 1 to 3.
constexpr std::int64_t kSlowBytesPerNanosecond = 8;

}  // namespace

CopyChoice::Copy CopyChoice::next() {
  const std::uint32_t every = way_ == Way::through_caches ? kTimedEvery : kTriedEvery;
  if (++since_timed_ < every) return {way_, false};
  since_timed_ = 0;
  return {Way::through_caches, true};
}

void CopyChoice::took(wire::Duration time, std::size_t size) {
  const bool slow = time.count() * kSlowBytesPerNanosecond > static_cast<std::int64_t>(size);
  const Way better = slow ? Way::past_caches : Way::through_caches;
  against_ = better == way_ ? 0 : against_ + 1;
  if (against_ < kAgreeing) return;
  way_ = better;
  against_ = 0;
}

}  // namespace softrnic::link::shm
