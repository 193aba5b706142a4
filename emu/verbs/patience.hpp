// SPDX-License-Identifier: BSD-3-Clause
// What a program that polls in vain does for its peer, which may want the same processor.
//
// At first nothing: whoever has a processor of its own finds the next frame soonest so. Then it
// yields at each poll. A yield that took long shows that others want the processor, and that by
// yielding one waits for the slices of all of them. For a while it then sleeps at the link, for
// kLongestWait at most: who sleeps and is woken has its turn before those who never sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::verbs {

class Patience {
 public:
  // Empty polls in a row before the first yield.
  static constexpr std::uint32_t kPollsAlone = 64;
  static constexpr wire::Duration kLongYield = std::chrono::microseconds(100);
  static constexpr wire::Duration kLongestWait = std::chrono::microseconds(200);
  // Sleeps before another yield tries whether the processor has become free.
  static constexpr std::uint32_t kSleeps = 64;

  // Whether the next empty poll is one to sleep after.
  bool sleeps() {
    const std::uint32_t left = sleeps_.load(std::memory_order_relaxed);
    if (left > 0) sleeps_.store(left - 1, std::memory_order_relaxed);
    return left > 0;
  }
  void yield();

 private:
  std::atomic<std::uint32_t> sleeps_{0};
};

}  // namespace softrnic::verbs
