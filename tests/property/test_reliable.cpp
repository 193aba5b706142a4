// SPDX-License-Identifier: BSD-3-Clause
// RC under faults: nothing is lost, doubled, reordered or spoilt.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "property/cases.hpp"
#include "property/reliable_run.hpp"

namespace softrnic::property {

TEST_CASE("RC: any mix of operations over any wire ends as if the wire were perfect") {
  Outcome sum;
  std::uint64_t cases = 0;
  for_each_seed(12000, [&](std::uint64_t seed) {
    const Plan plan = make_plan(seed, Kind::reliable);
    const Outcome outcome = run_reliable(plan);
    if (!outcome.failure.empty()) {
      FAIL(report(plan, outcome.failure,
                  [](const Plan& each) { return run_reliable(each).failure; }));
    }
    ++cases;
    sum.exhausted += outcome.exhausted;
    sum.packets += outcome.packets;
    sum.faults += outcome.faults;
    sum.retransmitted += outcome.retransmitted;
    sum.timeouts += outcome.timeouts;
    sum.rnr_naks += outcome.rnr_naks;
  });
  WARN(
      fmt::format("{} cases: {} packets, {} faults, {} retransmitted, {} timeouts, {} RNR NAKs, "
                  "{} connections rightly gave up",
                  cases, sum.packets, sum.faults, sum.retransmitted, sum.timeouts, sum.rnr_naks,
                  sum.exhausted));
  // The faults must have bitten, and yet hardly ever so hard that a connection is given up.
  if (cases >= 100) {
    CHECK(sum.faults > cases);
    CHECK(sum.retransmitted > cases);
    CHECK(sum.rnr_naks > 0);
    CHECK(sum.exhausted * 50 < cases);
  }
}

}  // namespace softrnic::property
