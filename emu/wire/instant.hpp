// SPDX-License-Identifier: BSD-3-Clause
// Time as the sans-I/O rooms know it: nanoseconds, passed in, never read from a clock.
//
// An Instant counts from an origin the caller chooses: the Unix epoch when links carry real
// traffic (capture stamps are then wall-clock time), zero under a virtual clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace softrnic::wire {

// A clock with no now(): whoever turns the crank supplies the time.
struct SuppliedClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<SuppliedClock, duration>;
  static constexpr bool is_steady = true;
};

using Duration = SuppliedClock::duration;
using Instant = SuppliedClock::time_point;

// "No deadline": later than every other instant.
inline constexpr Instant kNever = Instant::max();

}  // namespace softrnic::wire
