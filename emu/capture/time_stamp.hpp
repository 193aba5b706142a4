// SPDX-License-Identifier: BSD-3-Clause
// A file's time stamp as an Instant since the Unix epoch. A stamp that no capture of RoCE can have
// is a damaged one, and is told as the nearer end of what can: so the difference of two stamps,
// and a stamp with a timeout added, is always a number. Threading: none is held.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::capture {

// To 2106: what 32 bits of seconds reach.
inline constexpr std::int64_t kEarliestSecond = 0;
inline constexpr std::int64_t kLatestSecond = (std::int64_t{1} << 32) - 1;

// `nanoseconds` may be more than a second's.
inline wire::Instant time_stamp(std::int64_t seconds, std::uint32_t nanoseconds) {
  const auto bounded = std::clamp(seconds, kEarliestSecond, kLatestSecond);
  if (bounded != seconds) nanoseconds = 0;
  return wire::Instant(std::chrono::seconds(bounded) + std::chrono::nanoseconds(nanoseconds));
}

}  // namespace softrnic::capture
