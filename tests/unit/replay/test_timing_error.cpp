// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "replay/timing_error.hpp"

namespace softrnic::replay {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST_CASE("frames in time have no error", "[timing_error]") {
  TimingError timing;
  for (int i = 0; i < 100; ++i) timing.on_sent(microseconds(i), microseconds(i));
  CHECK(timing.frames() == 100);
  CHECK(timing.gaps() == 99);
  CHECK(timing.late() == 0);
  CHECK(timing.percentile(0.5) == nanoseconds(0));
  CHECK(timing.percentile(1) == nanoseconds(0));
  CHECK(timing.worst() == nanoseconds(0));
  CHECK(timing.mean() == nanoseconds(0));
}

TEST_CASE("one late frame is two gaps that are wrong", "[timing_error]") {
  TimingError timing;
  for (int i = 0; i < 101; ++i) {
    timing.on_sent(microseconds(100 * i), microseconds(100 * i + (i == 50 ? 30 : 0)));
  }
  CHECK(timing.late() == 1);
  CHECK(timing.latest() == microseconds(30));
  CHECK(timing.percentile(0.98) == nanoseconds(0));
  CHECK(timing.percentile(0.99) == microseconds(30));
  CHECK(timing.worst() == microseconds(30));
  CHECK(timing.mean() == nanoseconds(600));
}

TEST_CASE("what is late by a constant has right gaps", "[timing_error]") {
  TimingError timing;
  for (int i = 0; i < 10; ++i) timing.on_sent(microseconds(i), microseconds(i + 200));
  CHECK(timing.late() == 10);
  CHECK(timing.worst() == nanoseconds(0));
}

TEST_CASE("late means more than 10 us", "[timing_error]") {
  TimingError timing;
  timing.on_sent(nanoseconds(0), microseconds(10));
  CHECK(timing.late() == 0);
  timing.on_sent(nanoseconds(0), microseconds(10) + nanoseconds(1));
  CHECK(timing.late() == 1);
}

TEST_CASE("percentiles are right to 3 % and never below", "[timing_error]") {
  // Gaps of 1, 2, 3, ... ns more than intended.
  TimingError timing;
  std::int64_t at = 0;
  timing.on_sent(nanoseconds(0), nanoseconds(0));
  constexpr std::int64_t kMost = 200'000;
  for (std::int64_t error = 1; error <= kMost; ++error) {
    at += error;
    timing.on_sent(nanoseconds(0), nanoseconds(at));
  }
  for (const double share : {0.001, 0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = share * kMost;
    const auto told = static_cast<double>(timing.percentile(share).count());
    CAPTURE(share);
    CHECK(told >= exact);
    CHECK(told <= exact * 1.04 + 1);
  }
  CHECK(timing.percentile(1) == nanoseconds(kMost));
}

TEST_CASE("errors of any size are counted", "[timing_error]") {
  TimingError timing;
  timing.on_sent(nanoseconds(0), nanoseconds(0));
  timing.on_sent(nanoseconds(0), seconds(9'000'000'000));
  CHECK(timing.percentile(0.5) == seconds(9'000'000'000));
  CHECK(TimingError().percentile(0.5) == nanoseconds(0));
}

}  // namespace
}  // namespace softrnic::replay
