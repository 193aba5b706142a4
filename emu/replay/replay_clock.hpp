// SPDX-License-Identifier: BSD-3-Clause
// The clock that a replay follows, and how it waits: the host's, precisely, or a virtual one.
#pragma once

#include "wire/instant.hpp"

namespace softrnic::replay {

class ReplayClock {
 public:
  virtual ~ReplayClock() = default;
  ReplayClock() = default;
  ReplayClock(const ReplayClock&) = delete;
  ReplayClock& operator=(const ReplayClock&) = delete;

  virtual wire::Instant now() = 0;
  // Returns at `deadline`, or before it, so that the caller can look whether there is something
  // else to do: at the latest when `descriptor` (-1: none) is readable, or on a signal.
  virtual void wait_until(wire::Instant deadline, int descriptor) = 0;
};

// Sleeps until shortly before the deadline, and spins from there on.
class HostClock final : public ReplayClock {
 public:
  // What a sleep may be late: so long before the deadline it ends.
  static constexpr wire::Duration kSpin = std::chrono::microseconds(80);

  // Takes off the slack that the kernel allows itself with this thread's timers; back at the end.
  HostClock();
  ~HostClock() override;

  wire::Instant now() override;
  void wait_until(wire::Instant deadline, int descriptor) override;

 private:
  int slack_;  // nanoseconds, before
};

// Time that passes only when it is waited for.
class VirtualClock final : public ReplayClock {
 public:
  explicit VirtualClock(wire::Instant now) : now_(now) {}

  wire::Instant now() override { return now_; }
  void wait_until(wire::Instant deadline, int) override {
    if (deadline > now_) now_ = deadline;
  }

 private:
  wire::Instant now_;
};

}  // namespace softrnic::replay
