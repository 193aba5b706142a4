// SPDX-License-Identifier: BSD-3-Clause
#include "nic/engine.hpp"

#include <algorithm>

namespace softrnic::nic {

namespace {

// What comes from another processor's memory is on its way while the frame before is received: as
// many lines as a processor can wait for at once; the rest of a frame follows by itself.
void prefetch(const link::Frame& frame) {
  constexpr std::size_t kLines = 24;
  constexpr std::size_t kLine = 64;
  if (frame.segments().size() < 2) return;
  const link::Frame::Segment& rest = frame.segments()[1];
  const std::size_t size = std::min<std::size_t>(rest.length, kLines * kLine);
  for (std::size_t at = 0; at < size; at += kLine) {
    __builtin_prefetch(rest.base + rest.offset + at);
  }
}

}  // namespace

bool Engine::turn(wire::Instant now) {
  last_turn_ = now;
  bool active = flush_link(now);
  active |= receive(now);
  active |= receive_looped(now);
  active |= parts_.scheduler.expire(now, kTimersPerTurn) > 0;
  active |= discover(now);
  active |= transmit(now);
  return active;
}

bool Engine::transmit(wire::Instant now) {
  last_turn_ = now;
  parts_.scheduler.settle(now);
  const bool active = parts_.sender.transmit(now);
  parts_.frames.flush(now);
  return active;
}

wire::Instant Engine::next_deadline() const {
  const bool work_at_once = announce_ || more_to_receive_ || parts_.frames.looped() > 0 ||
                            neighbor_generation_ != parts_.neighbors.generation();
  if (work_at_once) return wire::Instant::min();
  const wire::Instant timers =
      std::min({parts_.scheduler.next_deadline(), parts_.neighbors.next_deadline(),
                parts_.membership.next_deadline(), parts_.link.next_deadline()});
  if (parts_.scheduler.idle()) return timers;
  if (!parts_.sender.starved()) return wire::Instant::min();
  return std::min(timers, last_turn_ + kStarvedRetry);
}

bool Engine::flush_link(wire::Instant now) {
  const wire::Instant due = parts_.link.next_deadline();
  if (due > now) return false;
  parts_.link.flush(now);
  return parts_.link.next_deadline() != due;
}

bool Engine::receive(wire::Instant now) {
  const std::size_t n = parts_.link.rx_burst(now, burst_);
  more_to_receive_ = n == burst_.size();
  if (n == 0) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + 1 < n) prefetch(*burst_[i + 1]);
    parts_.receiver.receive(now, *burst_[i]);
  }
  parts_.link.rx_release({burst_.data(), n});
  return true;
}

// Only those that wait now: an answer to ourselves is for the next turn.
bool Engine::receive_looped(wire::Instant now) {
  std::size_t waiting = parts_.frames.looped();
  const bool any = waiting > 0;
  for (; waiting > 0; --waiting) {
    link::Frame* frame = parts_.frames.next_looped();
    parts_.receiver.receive(now, *frame);
    parts_.frames.cancel(frame);
  }
  return any;
}

bool Engine::discover(wire::Instant now) {
  const bool announced = announce_;
  if (announce_) parts_.discovery.announce(now);
  announce_ = false;
  bool active = announced || parts_.discovery.send_probes(now, kProbesPerTurn) > 0;
  active |= parts_.membership.send_due(now, kProbesPerTurn) > 0;
  if (neighbor_generation_ != parts_.neighbors.generation()) {
    neighbor_generation_ = parts_.neighbors.generation();
    parts_.resolution.settle(now);
    parts_.scheduler.release_held(parts_.neighbors);
    active = true;
  }
  return active;
}

}  // namespace softrnic::nic
