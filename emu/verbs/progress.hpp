// SPDX-License-Identifier: BSD-3-Clause
// Who turns the crank when the program does not: a thread that sleeps while it is not needed.
//
// While a program posts or polls all the time it turns the crank itself, and the thread only looks
// now and then whether it still does: after kShortestNap at first, and half as often each time, up
// to kLongestNap. As soon as it finds that nobody calls it takes over: it turns the crank until
// there is nothing to do, spins a little in case more follows, and sleeps at the link's descriptor,
// from where a frame or a deadline wakes it. It only spins while nobody else wants the processor:
// on two processors two programs and their threads would take turns at it.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "link/file_descriptor.hpp"
#include "nic/nic.hpp"
#include "verbs/eagerness.hpp"

namespace softrnic::verbs {

class Progress {
 public:
  // So many calls, one close upon the other, make a program one that comes back. Those that sleep
  // look once or twice; those that spin on memory may have polled for a while before. So the number
  // doubles with each nap at whose end frames lay there that nobody had looked for.
  static constexpr int kFewestCalls = 16;
  static constexpr int kMostCalls = 1 << 14;
  static constexpr wire::Duration kClose = std::chrono::microseconds(4);
  // It still is one if it was elsewhere for no more than a quarter of the thread's nap, and what
  // the thread's own coming and going takes of its processor.
  static constexpr int kShare = 4;
  static constexpr wire::Duration kDisturbance = std::chrono::microseconds(30);
  static constexpr wire::Duration kShortestNap = std::chrono::microseconds(50);
  static constexpr wire::Duration kLongestNap = std::chrono::milliseconds(1);
  // So long it looks again and again for the next frame before it sleeps, on a processor of its
  // own.
  static constexpr wire::Duration kSpin = std::chrono::microseconds(50);

  // The NIC, its mutex and the count of armed completion queues must outlive this.
  Progress(nic::Nic& nic, std::mutex& mutex, const std::atomic<std::uint32_t>& armed);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Ends the thread; not with the mutex held. What is asked for afterwards is in vain.
  void end();

  // The program waited at the link, or yielded, between two polls; without the mutex.
  void waited(wire::Instant from, wire::Instant now);

  // --- with the mutex held ---

  // The program posted, or polled an empty completion queue, and turned the crank itself, `from`
  // then until `now`. While any queue is armed it may as well go to sleep next.
  void called(wire::Instant from, wire::Instant now);
  // Somebody is going to wait for what only a turn of the crank can bring.
  void take_over(wire::Instant now);

 private:
  void run();
  // The program may not come back soon.
  void left(wire::Instant now);
  // Turns the crank until it is idle; when to turn again at the latest.
  wire::Instant serve();
  // Whether the program still calls.
  bool take_nap(wire::Duration nap);
  void learn(bool still_calls);
  void spend(wire::Duration in_calls);
  void sleep_until(wire::Instant wake, bool at_the_link);
  // The thread is to look again at once.
  void kick(wire::Instant now);

  nic::Nic& nic_;
  std::mutex& mutex_;
  const std::atomic<std::uint32_t>& armed_;
  link::FileDescriptor bell_;
  std::atomic<wire::Instant> last_call_{wire::Instant{}};
  std::atomic<std::int64_t> in_calls_{0};  // nanoseconds of the program's
  std::atomic<bool> calls_often_{false};
  // When the thread looks again, unless a frame wakes it; and whether none can, in a nap.
  std::atomic<wire::Instant> wakes_{wire::Instant{}};
  std::atomic<bool> napping_{false};
  std::atomic<bool> ending_{false};
  Eagerness eagerness_;
  int calls_ = 0;  // close upon each other
  int calls_to_believe_ = kFewestCalls;
  std::thread thread_;
};

}  // namespace softrnic::verbs
