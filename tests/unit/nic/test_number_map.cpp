// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "nic/number_map.hpp"
#include "nic/random_source.hpp"

namespace softrnic::nic {
namespace {

TEST_CASE("a number map agrees with std::map over random inserts and erases") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::array<int, 64> values{};
  NumberMap<int> map;
  std::map<std::uint32_t, int*> model;
  for (int step = 0; step < 20000; ++step) {
    // Few distinct numbers, so that runs form, are split and closed again.
    const std::uint32_t stride = step / 5000 % 2 == 0 ? 1 : 0x10001;
    const std::uint32_t number = static_cast<std::uint32_t>(random() % 200) * stride;
    int* value = &values[random() % values.size()];
    if (random() % 2 == 0) {
      const bool inserted = model.emplace(number, value).second;
      REQUIRE(map.insert(number, value) == inserted);
    } else {
      const auto found = model.find(number);
      REQUIRE(map.erase(number) == (found == model.end() ? nullptr : found->second));
      if (found != model.end()) model.erase(found);
    }
    REQUIRE(map.size() == model.size());
    if (step % 100 != 0) continue;
    for (std::uint32_t n = 0; n < 200 * stride; n += stride) {
      const auto found = model.find(n);
      REQUIRE(map.find(n) == (found == model.end() ? nullptr : found->second));
    }
  }
  std::size_t visited = 0;
  map.for_each([&visited](int&) { ++visited; });
  CHECK(visited == model.size());
}

TEST_CASE("SipHash-2-4 of eight bytes is as published") {
  // Key 00..0f, message 00..07: 93 f5 f5 79 9a 93 2e 62 (the paper's reference vectors).
  CHECK(siphash24(0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x0706050403020100) ==
        0x93f5f5799a932462);
}

TEST_CASE("a random source repeats itself for the same seed and not for another") {
  RandomSource a(7);
  RandomSource b(7);
  RandomSource c(8);
  const std::uint64_t first = a.next();
  CHECK(first == b.next());
  CHECK(first != c.next());
  CHECK(a.next() != first);
  CHECK(RandomSource(0).next() != RandomSource(0).next());
}

TEST_CASE("a number sequence repeats nothing and shows no order") {
  constexpr std::uint32_t kDraws = 1u << 20;
  NumberSequence sequence{RandomSource(1)};
  std::vector<bool> seen(NumberSequence::kCount);
  std::uint32_t distinct = 0;
  std::uint32_t ascending = 0;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const std::uint32_t number = sequence.next();
    if (number >= NumberSequence::kCount || seen[number]) break;
    seen[number] = true;
    ++distinct;
    if (number == last + 1) ++ascending;
    last = number;
  }
  CHECK(distinct == kDraws);
  CHECK(ascending < 20);
}

}  // namespace
}  // namespace softrnic::nic
