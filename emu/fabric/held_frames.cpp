// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/held_frames.hpp"

#include <algorithm>

namespace softrnic::fabric {

void HeldFrames::hold_until(link::Frame* frame, wire::Instant deadline) {
  delayed_.emplace(deadline, frame);
}

void HeldFrames::hold_behind(link::Frame* frame, std::uint32_t count, wire::Instant deadline) {
  overtaken_.push_back({frame, count, deadline});
}

void HeldFrames::pass() {
  for (Overtaken& held : overtaken_) --held.remaining;
}

link::Frame* HeldFrames::take_passed() {
  const auto found = std::ranges::find(overtaken_, 0u, &Overtaken::remaining);
  if (found == overtaken_.end()) return nullptr;
  link::Frame* frame = found->frame;
  overtaken_.erase(found);
  return frame;
}

link::Frame* HeldFrames::take_due(wire::Instant now) {
  if (next_deadline() > now) return nullptr;
  const bool overtaken_first =
      delayed_.empty() ||
      (!overtaken_.empty() && overtaken_.front().deadline <= delayed_.begin()->first);
  if (overtaken_first) {
    link::Frame* frame = overtaken_.front().frame;
    overtaken_.pop_front();
    return frame;
  }
  link::Frame* frame = delayed_.begin()->second;
  delayed_.erase(delayed_.begin());
  return frame;
}

wire::Instant HeldFrames::next_deadline() const {
  wire::Instant earliest = wire::kNever;
  if (!delayed_.empty()) earliest = delayed_.begin()->first;
  if (!overtaken_.empty()) earliest = std::min(earliest, overtaken_.front().deadline);
  return earliest;
}

}  // namespace softrnic::fabric
