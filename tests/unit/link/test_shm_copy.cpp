// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "link/shm_copy.hpp"

using namespace softrnic;
using namespace link::shm;
using namespace std::chrono_literals;
using Way = CopyChoice::Way;

namespace {

constexpr std::size_t kSize = 4096;

// How the next frames are copied, when one that is timed takes so long.
std::vector<Way> ways(CopyChoice& choice, std::size_t frames, wire::Duration each) {
  std::vector<Way> all;
  for (std::size_t i = 0; i < frames; ++i) {
    const CopyChoice::Copy copy = choice.next();
    all.push_back(copy.way);
    if (copy.timed) choice.took(each, kSize);
  }
  return all;
}

}  // namespace

TEST_CASE("a copy past the caches has the bytes and touches no others") {
  std::vector<std::byte> from(600);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  const auto offset = GENERATE(0u, 1u, 15u, 16u, 63u);
  for (std::size_t size = 0; size <= 300; ++size) {
    const std::size_t skipped = size % 17;
    std::vector<std::byte> to(512);
    copy_past_caches(to.data() + 64 + offset, from.data() + skipped, size);
    const auto begin = to.begin() + 64 + offset;
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    const auto untouched = [](std::byte byte) { return byte == std::byte{0}; };
    REQUIRE(std::equal(begin, end, from.begin() + static_cast<std::ptrdiff_t>(skipped)));
    REQUIRE(std::all_of(to.begin(), begin, untouched));
    REQUIRE(std::all_of(end, to.end(), untouched));
  }
}

TEST_CASE("frames of all sizes are copied, whichever way") {
  FrameCopy copy;
  std::vector<std::byte> from(5000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 11 + 3);
  for (std::size_t size = 1; size <= from.size(); size += 61) {
    std::vector<std::byte> to(size);
    copy(to.data(), from.data(), size);
    REQUIRE(std::equal(to.begin(), to.end(), from.begin()));
  }
}

TEST_CASE("slow copies are made past the caches, until the caches are quick again") {
  CopyChoice choice;
  const auto all = [](const std::vector<Way>& some, Way way) {
    return std::ranges::count(some, way) == static_cast<std::ptrdiff_t>(some.size());
  };
  CHECK(all(ways(choice, 1000, 200ns), Way::through_caches));
  ways(choice, 200, 1500ns);
  const std::vector<Way> far = ways(choice, 640, 1500ns);
  CHECK(std::ranges::count(far, Way::past_caches) == 630);  // one in 64 tries the other way
  ways(choice, 640, 200ns);
  CHECK(all(ways(choice, 100, 200ns), Way::through_caches));
}

TEST_CASE("a copy that was interrupted decides nothing") {
  CopyChoice choice;
  for (std::size_t timed = 0; timed < 100;) {
    const CopyChoice::Copy copy = choice.next();
    CHECK(copy.way == Way::through_caches);
    if (copy.timed) choice.took(++timed % 4 == 0 ? 150ns : 4ms, kSize);
  }
}
