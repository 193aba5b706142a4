// SPDX-License-Identifier: BSD-3-Clause
#include "edit/number_map.hpp"

#include <catch2/catch.hpp>

namespace softrnic::edit {
namespace {

const wire::Gid kAlice = wire::Gid::from_ipv4(0x0a000001);
const wire::Gid kBob = wire::Gid::from_ipv4(0x0a000002);

NumberMap map_of(unsigned bits, std::initializer_list<std::string_view> texts) {
  NumberMap map(bits);
  for (const std::string_view text : texts) {
    const auto rule = NumberRule::read(text, bits);
    INFO(text);
    REQUIRE(rule);
    map.add(*rule);
  }
  return map;
}

TEST_CASE("a number becomes another, and all others stay") {
  const NumberMap map = map_of(24, {"0x11=0x99", "18=5"});
  CHECK(map.apply(0x11, kAlice) == 0x99);
  CHECK(map.apply(0x12, kBob) == 5);
  CHECK(map.apply(0x13, kBob) == 0x13);
}

TEST_CASE("a range moves as a whole") {
  const NumberMap map = map_of(32, {"0x100..0x1ff=0xffffff00"});
  CHECK(map.apply(0x100, kAlice) == 0xffffff00);
  CHECK(map.apply(0x1ff, kAlice) == 0xffffffff);
  CHECK(map.apply(0x200, kAlice) == 0x200);
}

TEST_CASE("steps wrap in the field's width, and undo each other") {
  const NumberMap up = map_of(24, {"+0x10"});
  const NumberMap down = map_of(24, {"-0x10"});
  CHECK(up.apply(0xfffff8, kAlice) == 8);
  CHECK(down.apply(8, kAlice) == 0xfffff8);
  CHECK(map_of(64, {"-1"}).apply(0, kAlice) == ~std::uint64_t{0});
}

TEST_CASE("a number of one host is not the same number of another") {
  const NumberMap map = map_of(24, {"0x11@10.0.0.1=0x99", "*@10.0.0.2=+1"});
  CHECK(map.apply(0x11, kAlice) == 0x99);
  CHECK(map.apply(0x11, kBob) == 0x12);
  CHECK(map.apply(0x12, kAlice) == 0x12);
}

TEST_CASE("what names no number leaves out those that all know") {
  const NumberMap map = map_of(24, {"1=5", "7"});
  CHECK(map.apply(1, kAlice, true) == 5);
  CHECK(map.apply(0, kAlice, true) == 0);
  CHECK(map.apply(0x11, kAlice) == 7);
}

TEST_CASE("what is no map is refused with a sentence") {
  for (const std::string_view text :
       {"", "=", "x", "0x11=", "=0x11", "0x1000000=1", "1=0x1000000", "5..4=1", "1..2..3=4",
        "1@nobody=2", "1..0xffffff=1..2", "0x10..0x1f=0xfffff8", "--1", "+", "1=-"}) {
    INFO(text);
    const auto rule = NumberRule::read(text, 24);
    REQUIRE_FALSE(rule);
    CHECK(rule.error().find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace softrnic::edit
