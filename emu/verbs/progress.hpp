// SPDX-License-Identifier: BSD-3-Clause
// Who turns the crank when the program does not: a thread that sleeps while it is not needed.
//
// While a program polls completion queues it turns the crank itself, and the thread only looks now
// and then whether it still does: after kShortestNap at first, and half as often each time, up to
// kLongestNap. As soon as it finds that nobody polls it takes over: it turns the crank until there
// is nothing to do and sleeps at the link's descriptor, from where a frame or a deadline wakes it.
// It never spins: on two processors two programs and their threads would take turns at it.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "link/file_descriptor.hpp"
#include "nic/nic.hpp"

namespace softrnic::verbs {

class Progress {
 public:
  // So many empty polls make a program one that polls: those that sleep look once or twice.
  static constexpr int kPollsToBelieve = 8;
  // Who has found a queue empty so lately is taken to poll again.
  static constexpr wire::Duration kStillPolling = std::chrono::microseconds(10);
  static constexpr wire::Duration kShortestNap = std::chrono::microseconds(20);
  static constexpr wire::Duration kLongestNap = std::chrono::milliseconds(1);

  // The NIC, its mutex and the count of armed completion queues must outlive this.
  Progress(nic::Nic& nic, std::mutex& mutex, const std::atomic<std::uint32_t>& armed);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Ends the thread; not with the mutex held. What is asked for afterwards is in vain.
  void end();

  // --- with the mutex held ---

  // The program polled an empty completion queue at `now` and turned the crank itself. While any
  // queue is armed it may as well go to sleep next.
  void polled(wire::Instant now);
  // The program turned the crank at `now` for another reason, and may not come back soon.
  void left(wire::Instant now);
  // Somebody is going to wait for what only a turn of the crank can bring.
  void take_over(wire::Instant now);

 private:
  void run();
  bool is_polled(wire::Instant now) const;
  // Turns the crank until it is idle; when to turn again at the latest.
  wire::Instant serve();
  void sleep_until(wire::Instant wake, bool at_the_link);
  // The thread is to look again at once.
  void kick(wire::Instant now);

  nic::Nic& nic_;
  std::mutex& mutex_;
  const std::atomic<std::uint32_t>& armed_;
  link::FileDescriptor bell_;
  std::atomic<wire::Instant> last_poll_{wire::Instant{}};
  // When the thread looks again, unless a frame wakes it; and whether none can, in a nap.
  std::atomic<wire::Instant> wakes_{wire::Instant{}};
  std::atomic<bool> napping_{false};
  std::atomic<bool> ending_{false};
  int empty_polls_ = 0;  // since somebody last waited
  std::thread thread_;
};

}  // namespace softrnic::verbs
