// SPDX-License-Identifier: BSD-3-Clause
// Selective repeat and end-to-end credits under the same work and the same faults as RC without
// them; and a peer that has neither sees no difference.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "property/cases.hpp"
#include "property/reliable_run.hpp"

namespace softrnic::property {

namespace {

Plan with(std::uint64_t seed, bool selective_repeat, bool credits) {
  Plan plan = make_plan(seed, Kind::reliable);
  for (Connection& connection : plan.connections) {
    connection.selective_repeat = selective_repeat;
    connection.credits = credits;
  }
  return plan;
}

struct Sum {
  std::uint64_t cases = 0;
  std::uint64_t exhausted = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmitted = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t rnr_naks = 0;

  void add(const Outcome& outcome) {
    ++cases;
    exhausted += outcome.exhausted;
    packets += outcome.packets;
    retransmitted += outcome.retransmitted;
    timeouts += outcome.timeouts;
    rnr_naks += outcome.rnr_naks;
  }
};

// Runs each seed with and without the options; judges the runs with them.
void compare(std::uint64_t usual, bool selective_repeat, bool credits, Sum& with_options,
             Sum& without) {
  for_each_seed(usual, [&](std::uint64_t seed) {
    const Plan plan = with(seed, selective_repeat, credits);
    const Outcome outcome = run_reliable(plan);
    if (!outcome.failure.empty()) {
      FAIL(report(plan, outcome.failure,
                  [](const Plan& each) { return run_reliable(each).failure; }));
    }
    with_options.add(outcome);
    without.add(run_reliable(with(seed, false, false)));
  });
  WARN(fmt::format(
      "{} cases: {} packets, {} retransmitted, {} timeouts, {} RNR NAKs, {} gave up; without the "
      "option {} packets, {} retransmitted, {} timeouts, {} RNR NAKs, {} gave up",
      with_options.cases, with_options.packets, with_options.retransmitted, with_options.timeouts,
      with_options.rnr_naks, with_options.exhausted, without.packets, without.retransmitted,
      without.timeouts, without.rnr_naks, without.exhausted));
}

std::string frames_of(const Plan& plan) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      fmt::format("softrnic-{}-options.pcapng", static_cast<int>(::getpid()));
  const Outcome outcome = run_reliable(plan, path.string());
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  CHECK(outcome.failure.empty());
  return bytes;
}

}  // namespace

TEST_CASE(
    "Selective repeat: any mix of operations over any wire ends as if the wire were perfect") {
  Sum with_options;
  Sum without;
  compare(4000, true, false, with_options, without);
  if (with_options.cases < 100) return;
  CHECK(with_options.retransmitted > with_options.cases);
  CHECK(with_options.retransmitted < without.retransmitted);
  CHECK(with_options.exhausted * 50 < with_options.cases);
}

TEST_CASE("End-to-end credits: any mix of operations over any wire ends as if it were perfect") {
  Sum with_options;
  Sum without;
  compare(4000, false, true, with_options, without);
  if (with_options.cases < 100) return;
  // Who knows how many receives there are does not send what would be dropped.
  CHECK(with_options.retransmitted < without.retransmitted);
  CHECK(with_options.exhausted * 50 < with_options.cases);
}

TEST_CASE("Selective repeat and credits together end as if the wire were perfect") {
  Sum with_options;
  Sum without;
  compare(2000, true, true, with_options, without);
}

TEST_CASE("A peer that advertises no credits sees the packets that it would see without them") {
  for_each_seed(200, [](std::uint64_t seed) {
    INFO("--seed " << seed);
    const Plan plan = with(seed, false, false);
    Plan deaf = plan;
    for (Connection& connection : deaf.connections) connection.honors_credits = false;
    const std::string frames = frames_of(plan);
    CHECK(frames.size() > 200);
    CHECK(frames == frames_of(deaf));
  });
}

}  // namespace softrnic::property
