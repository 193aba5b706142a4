// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/progress.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "nic/event_loop.hpp"

namespace softrnic::verbs {
namespace {

using nic::real_now;
using wire::Instant;

// So many turns at a time, then whoever waits for the NIC gets it.
constexpr int kTurnsAtOnce = 16;
// The default of 50 us would be longer than the nap it belongs to.
constexpr unsigned long kTimerSlackNanoseconds = 1000;

timespec timespec_of(wire::Duration duration) {
  const std::int64_t ns = std::max<std::int64_t>(duration.count(), 0);
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

// A slice so short that the scheduler lets the thread go before a program that spins on memory, as
// soon as it wakes: it has little to do, and others wait for it. Kernels before 6.12 know no slices
// of a thread's own, and leave it as it is.
void ask_for_quick_wakes() {
  struct {  // struct sched_attr, of which no C library's header is common to all systems
    std::uint32_t size = 48;
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100'000;  // nanoseconds: the shortest there is
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
  } attributes;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  if (sched_getscheduler(0) != SCHED_OTHER) return;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// The program's signals are the program's threads' business.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Progress::Progress(nic::Nic& nic, std::mutex& mutex, const std::atomic<std::uint32_t>& armed)
    : nic_(nic), mutex_(mutex), armed_(armed), bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

void Progress::end() {
  if (!thread_.joinable()) return;
  ending_.store(true);
  kick(Instant{});
  thread_.join();
}

void Progress::polled(Instant now) {
  if (armed_.load(std::memory_order_relaxed) > 0 || ++empty_polls_ < kPollsToBelieve) {
    return left(now);
  }
  empty_polls_ = kPollsToBelieve;
  last_poll_.store(now, std::memory_order_relaxed);
  // It sleeps at the link, which will wake it no more: it must look whether we still poll.
  if (wakes_.load(std::memory_order_relaxed) > now + kLongestNap) kick(now);
}

void Progress::left(Instant now) {
  // It will soon look for itself. (Who polls may have begun to just when it went to sleep.)
  if (is_polled(now) && wakes_.load(std::memory_order_relaxed) <= now + kLongestNap) return;
  const bool waits = nic_.link().prepare_wait();
  const Instant due = waits ? nic_.next_deadline() : Instant::min();
  if (due < wakes_.load(std::memory_order_relaxed)) kick(now);
}

void Progress::take_over(Instant now) {
  last_poll_.store(Instant{}, std::memory_order_relaxed);
  empty_polls_ = 0;
  if (napping_.load(std::memory_order_relaxed)) return kick(now);
  left(now);
}

void Progress::kick(Instant now) {
  wakes_.store(now, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  // Fails only when it has been rung so often that it is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof(one));
}

bool Progress::is_polled(Instant now) const {
  return armed_.load(std::memory_order_relaxed) == 0 &&
         now - last_poll_.load(std::memory_order_relaxed) < kStillPolling;
}

void Progress::run() {
  prctl(PR_SET_NAME, "softrnic");
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanoseconds);
  ask_for_quick_wakes();
  wire::Duration nap = kShortestNap;
  while (!ending_.load()) {
    const Instant now = real_now();
    if (is_polled(now)) {
      sleep_until(now + nap, false);
      nap = std::min(2 * nap, kLongestNap);
    } else {
      nap = kShortestNap;
      sleep_until(serve(), true);
    }
  }
}

Instant Progress::serve() {
  for (;;) {
    {
      const std::lock_guard held(mutex_);
      bool active = true;
      for (int i = 0; active && i < kTurnsAtOnce; ++i) active = nic_.turn(real_now());
      if (!active && nic_.link().prepare_wait()) {
        const Instant due = nic_.next_deadline();
        wakes_.store(due, std::memory_order_relaxed);
        return due;
      }
      if (ending_.load()) return Instant::min();
    }
    sched_yield();
  }
}

void Progress::sleep_until(Instant wake, bool at_the_link) {
  if (!at_the_link) {
    napping_.store(true, std::memory_order_relaxed);
    wakes_.store(wake, std::memory_order_relaxed);
  }
  std::array<pollfd, 2> descriptors{
      {{bell_.get(), POLLIN, 0}, {at_the_link ? nic_.descriptor() : -1, POLLIN, 0}}};
  const Instant now = real_now();
  // Longer sleeps than this are none that a timeout can say.
  const timespec timeout =
      wake <= now ? timespec{}
                  : timespec_of(std::min<wire::Duration>(wake - now, std::chrono::hours(1)));
  ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
  napping_.store(false, std::memory_order_relaxed);
  std::uint64_t rung = 0;
  if (descriptors[0].revents != 0) {
    [[maybe_unused]] const ssize_t taken = ::read(bell_.get(), &rung, sizeof(rung));
  }
}

}  // namespace softrnic::verbs
