// SPDX-License-Identifier: BSD-3-Clause
#include "replay/payload_store.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace softrnic::replay {

TEST_CASE("Bytes lie in the store where append said") {
  PayloadStore store;
  CHECK(store.bytes().empty());
  std::vector<std::byte> block(100'003);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 31 >> 3);
  // More than what is gathered before it is written.
  std::vector<std::uint64_t> places;
  for (int round = 0; round < 7; ++round) {
    block[0] = static_cast<std::byte>(round);
    const auto at = store.append(block);
    REQUIRE(at);
    places.push_back(*at);
    if (round == 3) {
      CHECK(store.bytes().size() == store.size());
      const auto zeros = store.append_zeros(5000);
      REQUIRE(zeros);
      CHECK(store.bytes()[*zeros + 4999] == std::byte{0});
    }
  }
  const auto bytes = store.bytes();
  REQUIRE(bytes.size() == 7 * block.size() + 5000);
  for (int round = 0; round < 7; ++round) {
    block[0] = static_cast<std::byte>(round);
    CHECK(std::equal(block.begin(), block.end(),
                     bytes.begin() + static_cast<std::ptrdiff_t>(places[round])));
  }
  PayloadStore moved = std::move(store);
  CHECK(moved.bytes().data() == bytes.data());
}

}  // namespace softrnic::replay
