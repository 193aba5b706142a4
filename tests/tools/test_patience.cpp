// SPDX-License-Identifier: BSD-3-Clause
#include "patience.hpp"

#include <catch2/catch.hpp>

using namespace softrnic;
using namespace softrnic::tools;
using std::chrono::seconds;

TEST_CASE("patience is over its limit after the last sign, not after the last look") {
  const wire::Instant start{seconds(1000)};
  Patience patience(seconds(10), 5, start);
  CHECK(patience.deadline() == start + seconds(10));

  patience.note(6, [&] { return start + seconds(1); });
  CHECK(patience.deadline() == start + seconds(11));

  patience.note(6, [&] { return start + seconds(10); });
  CHECK(patience.deadline() == start + seconds(11));
}

TEST_CASE("patience without a limit never ends") {
  const Patience patience(wire::Duration::max(), 0, wire::Instant{seconds(1)});
  CHECK(patience.deadline() == wire::kNever);
}
