// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/index_map.hpp"

#include <catch2/catch.hpp>

namespace softrnic::analysis {
namespace {

IndexMap::Key key_of(std::uint32_t i) {
  return {i % 7, i % 3, i, 0xffffffff};
}

TEST_CASE("an index map finds what was put in, and nothing else") {
  IndexMap map;
  CHECK(map.find(key_of(0)) == nullptr);
  constexpr std::uint32_t kKeys = 100'000;
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    std::uint64_t& value = map[key_of(i)];
    if (value != 0) FAIL("key " << i << " is there already");
    value = i + 1;
  }
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const std::uint64_t* value = map.find(key_of(i));
    if (value == nullptr || *value != i + 1) FAIL("key " << i << " is lost");
  }
  CHECK(map.find(key_of(kKeys)) == nullptr);
  map[key_of(5)] = 99;
  CHECK(*map.find(key_of(5)) == 99);
}

}  // namespace
}  // namespace softrnic::analysis
