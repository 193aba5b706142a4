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
// A yield costs as much as several looks at a link.
constexpr unsigned kLooksAYield = 8;
constexpr int kPauses = 8;
// After frames were found, about a microsecond and a half: those of a stream gather meanwhile, to
// be taken and acknowledged together; a peer that waits for an answer takes as long to come back.
constexpr int kPausesToGather = 64;
// The default of 50 us would be longer than the nap it belongs to.
constexpr unsigned long kTimerSlackNanoseconds = 1000;

// Between two looks: who wants the NIC gets it meanwhile.
void pause(int times) {
  for (int i = 0; i < times; ++i) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#else
    sched_yield();
#endif
  }
}

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

void Progress::called(Instant from, Instant now) {
  const wire::Duration since = from - last_call_.exchange(now, std::memory_order_relaxed);
  const bool close = since <= kClose;
  spend((now - from) + (close ? since : wire::Duration{}));
  // It will soon look for itself whether we still call.
  if (napping_.load(std::memory_order_relaxed)) return;
  calls_ = close ? std::min(calls_ + 1, kMostCalls) : 0;
  if (armed_.load(std::memory_order_relaxed) > 0 || calls_ < calls_to_believe_) return left(now);
  if (calls_often_.exchange(true, std::memory_order_relaxed)) return;
  // It may sleep at the link, which will wake it no more.
  if (wakes_.load(std::memory_order_relaxed) > now) kick(now);
}

void Progress::waited(Instant from, Instant now) {
  last_call_.store(now, std::memory_order_relaxed);
  spend(now - from);
}

void Progress::spend(wire::Duration in_calls) {
  in_calls_.fetch_add(in_calls.count(), std::memory_order_relaxed);
}

void Progress::left(Instant now) {
  // It is awake, or is just being woken.
  if (wakes_.load(std::memory_order_relaxed) <= now) return;
  const bool waits = nic_.link().prepare_wait();
  const Instant due = waits ? nic_.next_deadline() : Instant::min();
  if (due < wakes_.load(std::memory_order_relaxed)) kick(now);
}

void Progress::take_over(Instant now) {
  calls_ = 0;
  calls_often_.store(false, std::memory_order_relaxed);
  if (napping_.load(std::memory_order_relaxed)) return kick(now);
  left(now);
}

void Progress::kick(Instant now) {
  wakes_.store(now, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  // Fails only when it has been rung so often that it is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof(one));
}

void Progress::run() {
  prctl(PR_SET_NAME, "softrnic");
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanoseconds);
  ask_for_quick_wakes();
  wire::Duration nap = kShortestNap;
  while (!ending_.load()) {
    if (calls_often_.load(std::memory_order_relaxed)) {
      learn(take_nap(nap));
      nap = std::min(2 * nap, kLongestNap);
    } else {
      nap = kShortestNap;
      sleep_until(serve(), true);
    }
  }
}

bool Progress::take_nap(wire::Duration nap) {
  const Instant from = real_now();
  const std::int64_t before = in_calls_.load(std::memory_order_relaxed);
  {
    const std::lock_guard held(mutex_);
    // Somebody may just have said that he will wait.
    if (!calls_often_.load(std::memory_order_relaxed)) return false;
    napping_.store(true, std::memory_order_relaxed);
    wakes_.store(from + nap, std::memory_order_relaxed);
  }
  sleep_until(from + nap, false);
  const wire::Duration slept = real_now() - from;
  const wire::Duration in_calls(in_calls_.load(std::memory_order_relaxed) - before);
  const wire::Duration elsewhere = slept - in_calls;
  return elsewhere <= kDisturbance + slept / kShare;
}

void Progress::learn(bool still_calls) {
  const std::lock_guard held(mutex_);
  // Somebody waits, and has ended the nap: it tells nothing.
  if (!calls_often_.load(std::memory_order_relaxed)) return;
  if (still_calls) {
    const int less = calls_to_believe_ - std::max(calls_to_believe_ / 64, 1);
    calls_to_believe_ = std::max(less, kFewestCalls);
    return;
  }
  calls_often_.store(false, std::memory_order_relaxed);
  calls_ = 0;
  const bool late = !nic_.link().prepare_wait();
  if (late) calls_to_believe_ = std::min(2 * calls_to_believe_, kMostCalls);
}

Instant Progress::serve() {
  bool may_spin = eagerness_.may_spin();
  Instant busy = real_now();
  for (unsigned looks = 1;; ++looks) {
    const Instant now = real_now();
    bool worked = false;
    {
      const std::lock_guard held(mutex_);
      wakes_.store(Instant::min(), std::memory_order_relaxed);  // it is awake
      bool active = nic_.turn(now);
      worked = active;
      for (int i = 1; active && i < kTurnsAtOnce; ++i) active = nic_.turn(real_now());
      if (calls_often_.load(std::memory_order_relaxed)) return Instant::min();
      const bool spins = may_spin && now - busy < kSpin;
      if (!active && !spins && nic_.link().prepare_wait()) {
        const Instant due = nic_.next_deadline();
        wakes_.store(due, std::memory_order_relaxed);
        if (may_spin) eagerness_.left_alone();
        return due;
      }
      if (ending_.load()) return Instant::min();
    }
    pause(worked ? kPausesToGather : kPauses);
    if (worked || looks % kLooksAYield == 0) may_spin = eagerness_.yield() && may_spin;
    if (worked) busy = real_now();
  }
}

void Progress::sleep_until(Instant wake, bool at_the_link) {
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
