// SPDX-License-Identifier: BSD-3-Clause
#include "nic/event_loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

namespace softrnic::nic {
namespace {

using std::chrono::duration_cast;

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

timespec timespec_of(wire::Duration duration) {
  const std::int64_t ns = std::max<std::int64_t>(duration.count(), 0);
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

wire::Instant real_now() {
  static const std::int64_t offset =
      nanoseconds_of(CLOCK_REALTIME) - nanoseconds_of(CLOCK_MONOTONIC);
  return wire::Instant(wire::Duration(nanoseconds_of(CLOCK_MONOTONIC) + offset));
}

EventLoop::EventLoop(std::vector<Nic*> nics)
    : nics_(std::move(nics)), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

EventLoop::~EventLoop() {
  if (wake_ >= 0) close(wake_);
}

bool EventLoop::run_until(const std::function<bool()>& done, wire::Instant deadline) {
  wire::Instant last_activity = real_now();
  for (;;) {
    const wire::Instant now = real_now();
    if (turn_all(now)) last_activity = now;
    if (done()) return true;
    if (interrupted() || now >= deadline || link_gone(now)) return false;
    if (now - last_activity < kSpin) continue;
    sleep_until(std::min(deadline, earliest_deadline()));
  }
}

void EventLoop::interrupt() noexcept {
  const int saved_errno = errno;
  interrupted_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  // Should it fail, the sleep's own limit still ends it.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  errno = saved_errno;
}

bool EventLoop::turn_all(wire::Instant now) {
  bool active = false;
  for (Nic* nic : nics_) active |= nic->turn(now);
  return active;
}

bool EventLoop::link_gone(wire::Instant now) {
  if (now < next_link_check_) return false;
  next_link_check_ = now + kLinkCheck;
  return std::any_of(nics_.begin(), nics_.end(), [](Nic* nic) { return nic->link().gone(); });
}

wire::Instant EventLoop::earliest_deadline() const {
  wire::Instant earliest = wire::kNever;
  for (const Nic* nic : nics_) earliest = std::min(earliest, nic->next_deadline());
  return earliest;
}

void EventLoop::sleep_until(wire::Instant deadline) {
  const wire::Instant now = real_now();
  if (deadline <= now) return;
  std::vector<pollfd> descriptors;
  descriptors.reserve(nics_.size() + watched_.size() + 1);
  // ppoll ignores negative descriptors.
  for (const Nic* nic : nics_) descriptors.push_back({nic->descriptor(), POLLIN, 0});
  for (const int descriptor : watched_) descriptors.push_back({descriptor, POLLIN, 0});
  descriptors.push_back({wake_, POLLIN, 0});
  const timespec timeout = timespec_of(std::min(deadline - now, kLongestSleep));
  ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
}

}  // namespace softrnic::nic
