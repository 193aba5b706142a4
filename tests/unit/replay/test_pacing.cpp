// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "replay/pacing.hpp"

namespace softrnic::replay {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Kind = PacingOptions::Kind;

constexpr wire::Instant kBegin{seconds(1'700'000'000)};

TEST_CASE("captured gaps are kept", "[pacing]") {
  Pacing pacing({});
  CHECK(pacing.next(kBegin, 100) == nanoseconds(0));
  CHECK(pacing.next(kBegin + nanoseconds(17), 100) == nanoseconds(17));
  CHECK(pacing.next(kBegin + milliseconds(3), 100) == milliseconds(3));
  CHECK(pacing.next(kBegin + seconds(86'400), 100) == seconds(86'400));
}

TEST_CASE("captured gaps are scaled", "[pacing]") {
  const double factor = GENERATE(2.0, 0.25);
  Pacing pacing({.kind = Kind::captured, .factor = factor});
  CHECK(pacing.next(kBegin, 100) == nanoseconds(0));
  CHECK(pacing.next(kBegin + microseconds(500), 1) ==
        (factor > 1 ? microseconds(250) : microseconds(2000)));
}

TEST_CASE("a clock that goes back gives no deadline before the last one", "[pacing]") {
  Pacing pacing({});
  pacing.next(kBegin, 100);
  CHECK(pacing.next(kBegin + microseconds(9), 100) == microseconds(9));
  CHECK(pacing.next(kBegin - seconds(5), 100) == microseconds(9));
  CHECK(pacing.next(kBegin + microseconds(12), 100) == microseconds(12));
}

TEST_CASE("a bit rate spaces frames by their sizes", "[pacing]") {
  Pacing pacing({.kind = Kind::bit_rate, .factor = 1e9});
  CHECK(pacing.next(kBegin, 125) == nanoseconds(0));
  CHECK(pacing.next(kBegin, 1250) == microseconds(1));
  CHECK(pacing.next(kBegin + seconds(7), 60) == microseconds(11));
}

TEST_CASE("a bit rate does not drift", "[pacing]") {
  Pacing pacing({.kind = Kind::bit_rate, .factor = 3e9});
  wire::Duration due{};
  for (int i = 0; i <= 3'000'000; ++i) due = pacing.next(kBegin, 1000);
  CHECK(due == seconds(8));
}

TEST_CASE("a packet rate spaces frames evenly", "[pacing]") {
  Pacing pacing({.kind = Kind::packet_rate, .factor = 3});
  CHECK(pacing.next(kBegin, 100) == nanoseconds(0));
  CHECK(pacing.next(kBegin, 9000) == nanoseconds(333'333'333));
  CHECK(pacing.next(kBegin, 60) == nanoseconds(666'666'667));
  CHECK(pacing.next(kBegin, 60) == seconds(1));
}

TEST_CASE("at full speed everything is due at once", "[pacing]") {
  Pacing pacing({.kind = Kind::full});
  CHECK_FALSE(pacing.paced());
  CHECK(pacing.next(kBegin, 100) == nanoseconds(0));
  CHECK(pacing.next(kBegin + seconds(3), 100) == nanoseconds(0));
}

TEST_CASE("a loop begins a mean gap behind the one before", "[pacing]") {
  Pacing pacing({});
  pacing.next(kBegin, 100);
  pacing.next(kBegin + microseconds(10), 100);
  pacing.next(kBegin + microseconds(40), 100);
  pacing.begin_loop();
  CHECK(pacing.next(kBegin, 100) == microseconds(60));
  CHECK(pacing.next(kBegin + microseconds(10), 100) == microseconds(70));
  CHECK(pacing.next(kBegin + microseconds(40), 100) == microseconds(100));
  pacing.begin_loop();
  CHECK(pacing.next(kBegin, 100) == microseconds(120));
}

TEST_CASE("a rate goes on through loops", "[pacing]") {
  Pacing pacing({.kind = Kind::packet_rate, .factor = 1e6});
  pacing.next(kBegin, 100);
  pacing.begin_loop();
  CHECK(pacing.next(kBegin, 100) == microseconds(1));
  pacing.begin_loop();
  CHECK(pacing.next(kBegin, 100) == microseconds(2));
}

}  // namespace
}  // namespace softrnic::replay
