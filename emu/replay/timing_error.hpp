// SPDX-License-Identifier: BSD-3-Clause
// The timing error of a replay: how far the gaps between frames were from those intended, and how
// many frames came late.
//
// Sans-I/O, constant memory: errors are counted in buckets of a 32nd of a power of two, so a
// percentile is right to 3 %.
#pragma once

#include <array>
#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::replay {

class TimingError {
 public:
  // A frame that leaves later than this is late.
  static constexpr wire::Duration kLate = std::chrono::microseconds(10);

  // In the order of sending; both counted from the replay's beginning.
  void on_sent(wire::Duration due, wire::Duration sent);

  std::uint64_t frames() const { return frames_; }
  std::uint64_t gaps() const { return gaps_; }
  std::uint64_t late() const { return late_; }
  wire::Duration latest() const { return latest_; }  // of the frame that was latest

  // Of |gap - intended gap|: the smallest value that a share of all (0 to 1) does not exceed.
  wire::Duration percentile(double share) const;
  wire::Duration worst() const { return worst_; }
  wire::Duration mean() const;

 private:
  static constexpr std::uint32_t kSteps = 32;  // of each power of two
  static constexpr std::uint32_t kBuckets = kSteps * 60;

  static std::uint32_t bucket_of(std::uint64_t nanoseconds);
  static std::uint64_t upper_end(std::uint32_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t frames_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t late_ = 0;
  double sum_ = 0;
  wire::Duration worst_{};
  wire::Duration latest_{};
  wire::Duration last_due_{};
  wire::Duration last_sent_{};
};

}  // namespace softrnic::replay
