// SPDX-License-Identifier: BSD-3-Clause
// UC and UD under faults: whole messages or none.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "property/cases.hpp"
#include "property/unreliable_run.hpp"

namespace softrnic::property {

TEST_CASE("UC and UD: what arrives over any wire is whole and was sent") {
  std::uint64_t cases = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for_each_seed(6000, [&](std::uint64_t seed) {
    const Plan plan = make_plan(seed, Kind::unreliable);
    const UnreliableOutcome outcome = run_unreliable(plan);
    if (!outcome.failure.empty()) {
      FAIL(report(plan, outcome.failure,
                  [](const Plan& each) { return run_unreliable(each).failure; }));
    }
    ++cases;
    sent += outcome.sent;
    received += outcome.received;
  });
  WARN(fmt::format("{} cases: {} messages sent, {} received", cases, sent, received));
  if (cases >= 100) CHECK(received > sent / 4);
}

}  // namespace softrnic::property
