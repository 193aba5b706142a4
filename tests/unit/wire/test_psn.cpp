// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "wire/psn.hpp"

namespace softrnic::wire {
namespace {

TEST_CASE("a PSN keeps 24 bits") {
  REQUIRE(Psn(0x1000000) == Psn(0));
  REQUIRE(Psn(0xffffffff).value() == 0xffffff);
}

TEST_CASE("PSN arithmetic wraps") {
  REQUIRE(Psn(0xffffff) + 1 == Psn(0));
  REQUIRE(Psn(0xfffffe) + 5 == Psn(3));
  REQUIRE(Psn(0) - 1 == Psn(0xffffff));
  REQUIRE(Psn(3) - 0x1000004 == Psn(0xffffff));
  Psn psn(0xffffff);
  REQUIRE(++psn == Psn(0));
  REQUIRE(psn == Psn(0));
}

TEST_CASE("PSN distances are signed and reach half the number space") {
  REQUIRE(Psn(5).since(Psn(5)) == 0);
  REQUIRE(Psn(0).since(Psn(0xffffff)) == 1);
  REQUIRE(Psn(0xffffff).since(Psn(0)) == -1);
  REQUIRE(Psn(2).since(Psn(0xfffffe)) == 4);
  REQUIRE(Psn(0x7fffff).since(Psn(0)) == Psn::kWindow - 1);
  REQUIRE(Psn(0x800000).since(Psn(0)) == -Psn::kWindow);
  REQUIRE(Psn(0x800001).since(Psn(0)) == -Psn::kWindow + 1);
}

TEST_CASE("PSN order holds across the wrap") {
  for (const std::uint32_t origin : {0u, 1u, 0x7fffffu, 0x800000u, 0xfffffeu, 0xffffffu}) {
    for (const std::uint32_t distance : {1u, 2u, 1000u, 0x7fffffu}) {
      INFO("origin " << origin << ", distance " << distance);
      const Psn first(origin);
      const Psn later = first + distance;
      REQUIRE(first.before(later));
      REQUIRE(later.after(first));
      REQUIRE_FALSE(later.before(first));
      REQUIRE_FALSE(first.after(later));
      REQUIRE(later.since(first) == static_cast<std::int32_t>(distance));
      REQUIRE(later - distance == first);
    }
    REQUIRE_FALSE(Psn(origin).before(Psn(origin)));
    REQUIRE_FALSE(Psn(origin).after(Psn(origin)));
  }
}

}  // namespace
}  // namespace softrnic::wire
