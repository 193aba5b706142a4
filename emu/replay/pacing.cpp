// SPDX-License-Identifier: BSD-3-Clause
#include "replay/pacing.hpp"

#include <algorithm>
#include <cmath>

namespace softrnic::replay {

namespace {

constexpr double kNanoseconds = 1e9;

// Three centuries, which no sum of deadlines leaves.
constexpr double kLongest = 9e18;

wire::Duration duration_of(double nanoseconds) {
  return wire::Duration(static_cast<std::int64_t>(std::min(std::round(nanoseconds), kLongest)));
}

}  // namespace

wire::Duration Pacing::next(wire::Instant captured_at, std::size_t size) {
  wire::Duration due{};
  switch (options_.kind) {
    case PacingOptions::Kind::captured:
      due = captured(captured_at);
      break;
    case PacingOptions::Kind::bit_rate:
      due = duration_of(bits_ / options_.factor * kNanoseconds);
      break;
    case PacingOptions::Kind::packet_rate:
      due = duration_of(static_cast<double>(frames_) / options_.factor * kNanoseconds);
      break;
    case PacingOptions::Kind::full:
      break;
  }
  ++frames_;
  ++loop_frames_;
  bits_ += 8.0 * static_cast<double>(size);
  last_ = std::max(last_, due);
  return last_;
}

wire::Duration Pacing::captured(wire::Instant at) {
  if (!first_) first_ = at;
  const auto elapsed = static_cast<double>((at - *first_).count());
  return loop_begin_ + duration_of(elapsed / options_.factor);
}

void Pacing::begin_loop() {
  const auto gaps = static_cast<std::int64_t>(loop_frames_) - 1;
  const wire::Duration mean = gaps > 0 ? (last_ - loop_begin_) / gaps : wire::Duration(0);
  loop_begin_ = last_ + mean;
  loop_frames_ = 0;
  first_.reset();
}

}  // namespace softrnic::replay
