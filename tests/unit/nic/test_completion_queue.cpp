// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <catch2/catch.hpp>

#include "nic/completion_queue.hpp"

namespace softrnic::nic {
namespace {

transport::Completion numbered(std::uint64_t id) {
  transport::Completion completion;
  completion.id = id;
  return completion;
}

TEST_CASE("completions come out in the order in which they went in, across the ring's end") {
  CompletionQueue queue(3);
  std::array<transport::Completion, 2> out;
  std::uint64_t in = 0;
  std::uint64_t next = 0;
  for (int round = 0; round < 10; ++round) {
    while (queue.size() < 3) REQUIRE(queue.complete(numbered(in++)));
    const std::size_t n = queue.poll(out);
    REQUIRE(n == 2);
    for (std::size_t i = 0; i < n; ++i) CHECK(out[i].id == next++);
  }
  CHECK(queue.poll(out) == 1);
  CHECK(out[0].id == next);
  CHECK(queue.poll(out) == 0);
  CHECK_FALSE(queue.overrun());
}

TEST_CASE("a full completion queue refuses, keeps what it has and stays in error") {
  CompletionQueue queue(2);
  REQUIRE(queue.complete(numbered(1)));
  REQUIRE(queue.complete(numbered(2)));
  CHECK_FALSE(queue.overrun());
  CHECK_FALSE(queue.complete(numbered(3)));
  CHECK(queue.overrun());

  std::array<transport::Completion, 4> out;
  REQUIRE(queue.poll(out) == 2);
  CHECK(out[0].id == 1);
  CHECK(out[1].id == 2);
  CHECK_FALSE(queue.complete(numbered(4)));
  CHECK(queue.overrun());
  CHECK(queue.size() == 0);
}

TEST_CASE("a queue pair that is forgotten takes its completions along, and the rest keep order") {
  for (std::uint64_t start = 0; start < 4; ++start) {
    CompletionQueue queue(4);
    std::array<transport::Completion, 4> out;
    for (std::uint64_t i = 0; i < start; ++i) {
      REQUIRE(queue.complete(numbered(99)));
      REQUIRE(queue.poll(out) == 1);
    }
    for (std::uint64_t i = 0; i < 4; ++i) {
      transport::Completion completion = numbered(i);
      completion.qpn = i % 2 == 0 ? 7 : 8;
      REQUIRE(queue.complete(completion));
    }
    queue.forget(7);
    queue.forget(9);
    REQUIRE(queue.size() == 2);
    REQUIRE(queue.complete(numbered(4)));
    REQUIRE(queue.poll(out) == 3);
    CHECK(out[0].id == 1);
    CHECK(out[1].id == 3);
    CHECK(out[2].id == 4);
  }
}

TEST_CASE("a completion queue of depth zero holds one") {
  CompletionQueue queue(0);
  CHECK(queue.complete(numbered(1)));
  CHECK_FALSE(queue.complete(numbered(2)));
}

}  // namespace
}  // namespace softrnic::nic
