// SPDX-License-Identifier: BSD-3-Clause
// Turns a NIC's crank in real time.
//
// Spins kSpin after the last sign of life, then sleeps until a frame, a deadline, or one of the
// caller's descriptors. `now` is wall-clock time since the Unix epoch, kept monotonic.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "nic/nic.hpp"
#include "wire/instant.hpp"

namespace softrnic::nic {

// Wall-clock time that never runs backwards: the Unix time at first use plus the monotonic clock.
wire::Instant real_now();

class EventLoop {
 public:
  // How long to spin before sleeping: longer than a round trip, shorter than a scheduler's wake.
  static constexpr wire::Duration kSpin = std::chrono::microseconds(60);
  // The longest sleep, should an interruption have gone unheard for want of a descriptor.
  static constexpr wire::Duration kLongestSleep = std::chrono::seconds(1);

  // How often to look whether the links are still there.
  static constexpr wire::Duration kLinkCheck = std::chrono::milliseconds(100);

  explicit EventLoop(Nic& nic) : EventLoop(std::vector<Nic*>{&nic}) {}
  explicit EventLoop(std::vector<Nic*> nics);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Turns until `done()` is true (checked after each turn); false when `deadline` came first or
  // interrupt() was called, or when a NIC's link is gone.
  bool run_until(const std::function<bool()>& done, wire::Instant deadline = wire::kNever);

  // Also wakes when this descriptor becomes readable.
  void watch(int descriptor) { watched_.push_back(descriptor); }

  // Ends run_until soon, and every later one at once; safe in a signal handler and from other
  // threads.
  void interrupt() noexcept;
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

 private:
  bool turn_all(wire::Instant now);
  wire::Instant earliest_deadline() const;
  bool link_gone(wire::Instant now);
  void sleep_until(wire::Instant deadline);

  std::vector<Nic*> nics_;
  std::vector<int> watched_;
  wire::Instant next_link_check_{};
  int wake_ = -1;  // becomes readable with interrupt()
  std::atomic<bool> interrupted_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
};

}  // namespace softrnic::nic
