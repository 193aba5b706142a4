// SPDX-License-Identifier: BSD-3-Clause
#include "replay/replay_clock.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

namespace softrnic::replay {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// So often at least it is looked whether there is something else to do.
constexpr wire::Duration kLongestSleep = std::chrono::milliseconds(100);

std::int64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

// What CLOCK_REALTIME was ahead of CLOCK_MONOTONIC at first: steps of the former are not followed.
std::int64_t offset() {
  static const std::int64_t ahead = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC);
  return ahead;
}

timespec timespec_of(std::int64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
}

}  // namespace

HostClock::HostClock() : slack_(prctl(PR_GET_TIMERSLACK)) {
  prctl(PR_SET_TIMERSLACK, 1);
}

HostClock::~HostClock() {
  if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
}

wire::Instant HostClock::now() {
  return wire::Instant(wire::Duration(read_clock(CLOCK_MONOTONIC) + offset()));
}

void HostClock::wait_until(wire::Instant deadline, int descriptor) {
  const wire::Instant asleep_from = now();
  const wire::Duration sleep = std::min(deadline - kSpin - asleep_from, kLongestSleep);
  if (sleep > wire::Duration(0)) {
    if (descriptor >= 0) {
      pollfd readable{descriptor, POLLIN, 0};
      const timespec timeout = timespec_of(sleep.count());
      ppoll(&readable, 1, &timeout, nullptr);
    } else {
      const std::int64_t until = (asleep_from + sleep).time_since_epoch().count() - offset();
      const timespec at = timespec_of(until);
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    }
    return;  // the caller looks around and comes again
  }
  while (now() < deadline) {
  }
}

}  // namespace softrnic::replay
