// SPDX-License-Identifier: BSD-3-Clause
// Turns a NIC's crank in real time.
//
// Spins kSpin after the last sign of life, then sleeps until a frame, a deadline, or one of the
// caller's descriptors. `now` is wall-clock time since the Unix epoch, kept monotonic.
#pragma once

#include <functional>
#include <span>

#include "nic/nic.hpp"
#include "wire/instant.hpp"

namespace softrnic::nic {

// Wall-clock time that never runs backwards: the Unix time at first use plus the monotonic clock.
wire::Instant real_now();

class EventLoop {
 public:
  // How long to spin before sleeping: longer than a round trip, shorter than a scheduler's wake.
  static constexpr wire::Duration kSpin = std::chrono::microseconds(60);

  explicit EventLoop(Nic& nic) : nics_{&nic} {}
  explicit EventLoop(std::vector<Nic*> nics) : nics_(std::move(nics)) {}

  // Turns until `done()` is true (checked after each turn); false when `deadline` came first or
  // interrupt() was called.
  bool run_until(const std::function<bool()>& done, wire::Instant deadline = wire::kNever);

  // Also wakes when this descriptor becomes readable.
  void watch(int descriptor) { watched_.push_back(descriptor); }

  // Ends run_until soon; safe in a signal handler.
  void interrupt() noexcept { interrupted_ = 1; }
  bool interrupted() const { return interrupted_ != 0; }

 private:
  void sleep_until(wire::Instant deadline);

  std::vector<Nic*> nics_;
  std::vector<int> watched_;
  volatile int interrupted_ = 0;
};

}  // namespace softrnic::nic
