// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/eagerness.hpp"

#include <sched.h>

#include "nic/event_loop.hpp"

namespace softrnic::verbs {

bool Eagerness::yield() {
  const wire::Instant before = nic::real_now();
  sched_yield();
  return learn(nic::real_now() - before);
}

bool Eagerness::learn(wire::Duration yielded) {
  if (yielded <= kLongYield) return true;
  sleeps_ = next_;
  next_ = std::min(2 * next_, kMostSleeps);
  return false;
}

}  // namespace softrnic::verbs
