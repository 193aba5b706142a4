// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/patience.hpp"

#include <sched.h>

#include "nic/event_loop.hpp"

namespace softrnic::verbs {

void Patience::yield() {
  const wire::Instant before = nic::real_now();
  sched_yield();
  if (nic::real_now() - before > kLongYield) sleeps_.store(kSleeps, std::memory_order_relaxed);
}

}  // namespace softrnic::verbs
