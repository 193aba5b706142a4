// SPDX-License-Identifier: BSD-3-Clause
#include "transport/growing_ring.hpp"

#include <catch2/catch.hpp>

using softrnic::transport::GrowingRing;

TEST_CASE("growing ring: takes nothing before it is started", "[growing_ring]") {
  GrowingRing<int> ring;
  CHECK(ring.empty());
  CHECK_FALSE(ring.make_room());
  CHECK_FALSE(ring.push(1));
}

TEST_CASE("growing ring: keeps order while it grows and wraps, up to its bound", "[growing_ring]") {
  for (const std::uint32_t bound : {1u, 2u, 3u, 7u, 64u, 100u}) {
    GrowingRing<std::uint32_t> ring;
    ring.start(bound);
    std::uint32_t pushed = 0;
    std::uint32_t popped = 0;
    // One further from empty each time, so that it grows with its head at every place.
    for (std::uint32_t fill = 1; fill <= bound; ++fill) {
      while (ring.size() < fill) REQUIRE(ring.push(pushed++));
      REQUIRE(ring[0] == popped);
      ring.pop();
      ++popped;
      REQUIRE(ring.push(pushed++));
      for (std::uint32_t i = 0; i < ring.size(); ++i) REQUIRE(ring[i] == popped + i);
    }
    CHECK(ring.size() == bound);
    CHECK_FALSE(ring.make_room());
    CHECK_FALSE(ring.push(0));
    CHECK(ring[bound - 1] == pushed - 1);
    ring.clear();
    CHECK(ring.empty());
    CHECK(ring.push(5));
    CHECK(ring[0] == 5);
  }
}

TEST_CASE("growing ring: a new start may lower or raise the bound", "[growing_ring]") {
  GrowingRing<int> ring;
  ring.start(10);
  for (int i = 0; i < 10; ++i) REQUIRE(ring.push(i));
  for (const std::uint32_t bound : {2u, 20u}) {
    ring.start(bound);
    CHECK(ring.empty());
    CHECK(ring.bound() == bound);
    for (std::uint32_t i = 0; i < bound; ++i) REQUIRE(ring.push(static_cast<int>(i)));
    CHECK_FALSE(ring.push(0));
    CHECK(ring[0] == 0);
    CHECK(ring[bound - 1] == static_cast<int>(bound) - 1);
  }
}

TEST_CASE("growing ring: the bound may move while it is in use", "[growing_ring]") {
  GrowingRing<int> ring;
  ring.start(3);
  for (int i = 0; i < 3; ++i) REQUIRE(ring.push(i));
  CHECK_FALSE(ring.push(3));
  ring.rebound(5);
  CHECK(ring.push(3));
  CHECK(ring.push(4));
  CHECK_FALSE(ring.push(5));
  ring.rebound(2);
  CHECK(ring.size() == 5);  // what is in it stays
  for (int i = 0; i < 3; ++i) {
    CHECK(ring[0] == i);
    CHECK_FALSE(ring.push(9));
    ring.pop();
  }
  CHECK_FALSE(ring.push(9));
  ring.pop();
  CHECK(ring.push(9));
  CHECK_FALSE(ring.push(10));
  CHECK(ring[0] == 4);
  CHECK(ring[1] == 9);
}
