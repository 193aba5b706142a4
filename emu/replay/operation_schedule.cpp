// SPDX-License-Identifier: BSD-3-Clause
#include "replay/operation_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace softrnic::replay {

wire::Duration Pace::scaled(wire::Duration captured) const {
  if (fast) return wire::Duration(0);
  if (speed == 1.0) return captured;
  const double nanoseconds = static_cast<double>(captured.count()) / speed;
  constexpr double kMost = 9e18;
  return wire::Duration(static_cast<std::int64_t>(std::clamp(nanoseconds, -kMost, kMost)));
}

void OperationSchedule::start(wire::Instant now) {
  start_ = last_heard_ = now;
}

wire::Instant OperationSchedule::planned(wire::Instant captured) const {
  return start_ + slip_ + pace_.scaled(captured - side_.operations.front().at);
}

void OperationSchedule::note(wire::Instant now, std::uint32_t completed, std::uint32_t heard) {
  completed_.resize(std::max<std::size_t>(completed_.size(), completed), now);
  if (heard > heard_.size()) {
    heard_.resize(heard, now);
    last_heard_ = now;
  }
}

bool OperationSchedule::has_heard(wire::Instant now, std::uint32_t messages) {
  if (deaf_ || heard_.size() >= messages) return true;
  if (patience_ == wire::Duration::max()) return false;
  // The other side may have waited for our own completions first.
  const wire::Instant since =
      completed_.empty() ? last_heard_ : std::max(last_heard_, completed_.back());
  deaf_ = now - since >= patience_;
  if (!deaf_) deadline_ = since + patience_;
  return deaf_;
}

const RecordedOperation* OperationSchedule::due(wire::Instant now) {
  deadline_ = wire::kNever;
  if (empty()) {
    if (completed_.size() == side_.operations.size()) has_heard(now, to_hear_);
    return nullptr;
  }
  const RecordedOperation& operation = side_.operations[next_];
  if (completed_.size() < operation.own_completed) return nullptr;
  if (!has_heard(now, operation.heard)) return nullptr;
  if (pace_.fast) return &operation;
  if (operation.own_completed != 0) {
    const wire::Duration late =
        completed_[operation.own_completed - 1] - planned(operation.completed_at);
    slip_ = std::max(slip_, slip_ + late);
  }
  if (operation.heard != 0 && !deaf_) {
    const wire::Duration late = heard_[operation.heard - 1] - planned(operation.heard_at);
    slip_ = std::max(slip_, slip_ + late);
  }
  const wire::Instant when = planned(operation.at);
  if (when <= now) return &operation;
  deadline_ = when;
  return nullptr;
}

}  // namespace softrnic::replay
