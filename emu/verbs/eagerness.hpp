// SPDX-License-Identifier: BSD-3-Clause
// Whether the thread that serves the NIC may spin for a while before it sleeps.
//
// It yields at each look. A yield that took long shows that somebody else wants the processor, and
// has cost a slice of his: for a number of times the thread then sleeps at once, from where it is
// woken before whoever spins. The number doubles with each such yield, so that a program that spins
// on memory loses little by the attempts, and halves with each time that was left alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::verbs {

// Of one thread.
class Eagerness {
 public:
  static constexpr wire::Duration kLongYield = std::chrono::microseconds(100);
  static constexpr std::uint32_t kFewestSleeps = 16;
  static constexpr std::uint32_t kMostSleeps = 1 << 14;

  // Asked once before each sleep.
  bool may_spin() {
    if (sleeps_ == 0) return true;
    --sleeps_;
    return false;
  }
  // Gives the processor to whoever wants it; whether nobody kept it for long.
  bool yield();
  // What a yield of this duration tells; true: nobody kept the processor for long.
  bool learn(wire::Duration yielded);
  // It spun to the end and was left alone.
  void left_alone() { next_ = std::max(next_ / 2, kFewestSleeps); }

 private:
  std::uint32_t sleeps_ = 0;
  std::uint32_t next_ = kFewestSleeps;
};

}  // namespace softrnic::verbs
