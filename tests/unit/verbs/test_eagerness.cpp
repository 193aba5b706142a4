// SPDX-License-Identifier: BSD-3-Clause
// When the thread that serves the NIC may spin: the durations of yields are given.
#include "verbs/eagerness.hpp"

#include <catch2/catch.hpp>

namespace softrnic::verbs::test {
namespace {

constexpr wire::Duration kShort = std::chrono::microseconds(2);
constexpr wire::Duration kLong = std::chrono::milliseconds(3);

// Sleeps until it may spin again.
std::uint32_t sleeps(Eagerness& eagerness) {
  std::uint32_t n = 0;
  while (!eagerness.may_spin()) ++n;
  return n;
}

}  // namespace

TEST_CASE("who has the processor alone may always spin", "[eagerness]") {
  Eagerness eagerness;
  for (int i = 0; i < 1000; ++i) {
    CHECK(eagerness.may_spin());
    CHECK(eagerness.learn(kShort));
    eagerness.left_alone();
  }
}

TEST_CASE("a long yield costs sleeps, the next one twice as many, up to a limit", "[eagerness]") {
  Eagerness eagerness;
  std::uint32_t expected = Eagerness::kFewestSleeps;
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(eagerness.learn(kLong));
    CHECK(sleeps(eagerness) == expected);
    expected = std::min(2 * expected, Eagerness::kMostSleeps);
  }
  CHECK(expected == Eagerness::kMostSleeps);
}

TEST_CASE("spins that were left alone make it eager again", "[eagerness]") {
  Eagerness eagerness;
  for (int i = 0; i < 20; ++i) eagerness.learn(kLong);
  sleeps(eagerness);
  for (int i = 0; i < 20; ++i) eagerness.left_alone();
  CHECK_FALSE(eagerness.learn(kLong));
  CHECK(sleeps(eagerness) == Eagerness::kFewestSleeps);
}

}  // namespace softrnic::verbs::test
