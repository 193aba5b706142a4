// SPDX-License-Identifier: BSD-3-Clause
#include "transport/scoreboard.hpp"

#include <catch2/catch.hpp>

using softrnic::transport::Scoreboard;
using softrnic::wire::Psn;

namespace {

// Packets 100 to 100 + n - 1 have been sent, in order.
Scoreboard sent(std::uint32_t n, std::uint32_t first = 100) {
  Scoreboard board;
  board.enable();
  for (std::uint32_t i = 0; i < n; ++i) board.sent(Psn(first) + i, true);
  return board;
}

}  // namespace

TEST_CASE("nothing is lost before something newer has come") {
  Scoreboard board = sent(4);
  CHECK_FALSE(board.find_losses());
  for (std::uint32_t psn = 100; psn < 104; ++psn) CHECK_FALSE(board.is_lost(Psn(psn)));
  CHECK(board.is_lost(Psn(104)));  // never sent
}

TEST_CASE("what was sent before an arrival and has not arrived is lost") {
  Scoreboard board = sent(5);
  board.received(Psn(101));
  board.received(Psn(103));
  REQUIRE(board.find_losses());
  CHECK(board.is_lost(Psn(100)));
  CHECK_FALSE(board.is_lost(Psn(101)));
  CHECK(board.is_lost(Psn(102)));
  CHECK_FALSE(board.is_lost(Psn(103)));
  CHECK_FALSE(board.is_lost(Psn(104)));
  CHECK(board.held() == 2);
  CHECK_FALSE(board.find_losses());
}

TEST_CASE("arrivals one after the other tell of no further loss") {
  Scoreboard board = sent(5);
  board.received(Psn(101));
  CHECK(board.find_losses());
  board.received(Psn(102));
  CHECK_FALSE(board.find_losses());
  board.received(Psn(104));
  CHECK(board.find_losses());
  CHECK(board.is_lost(Psn(103)));
}

TEST_CASE("a packet sent again is lost again only after something newer") {
  Scoreboard board = sent(3);
  board.received(Psn(102));
  REQUIRE(board.find_losses());
  board.sent(Psn(100), true);
  board.sent(Psn(101), true);
  CHECK_FALSE(board.is_lost(Psn(100)));
  // Which copy of 101 has come is not known, so it tells nothing.
  board.received(Psn(101));
  CHECK_FALSE(board.find_losses());
  board.sent(Psn(103), true);
  board.received(Psn(103));
  REQUIRE(board.find_losses());
  CHECK(board.is_lost(Psn(100)));
}

TEST_CASE("acknowledged packets are no longer held") {
  Scoreboard board = sent(6, 0xfffffd);
  board.received(Psn(0xffffff));
  board.received(Psn(1));
  board.received(Psn(1));
  CHECK(board.held() == 2);
  board.acknowledged(Psn(0xfffffd), Psn(0));
  CHECK(board.held() == 1);
  board.acknowledged(Psn(0), Psn(2));
  CHECK(board.held() == 0);
}

TEST_CASE("what the window does not count is not held") {
  Scoreboard board;
  board.enable();
  board.sent(Psn(7), false);
  board.received(Psn(7));
  CHECK(board.held() == 0);
  CHECK_FALSE(board.is_lost(Psn(7)));
}

TEST_CASE("what the peer denies is lost, and so is all after a timeout but what it has") {
  Scoreboard board = sent(4);
  board.received(Psn(102));
  board.lose(Psn(102));
  CHECK(board.is_lost(Psn(102)));
  CHECK(board.is_abandoned(Psn(102)));
  CHECK(board.held() == 0);
  board.received(Psn(103));
  board.lose_all();
  CHECK(board.is_abandoned(Psn(101)));
  CHECK_FALSE(board.is_lost(Psn(103)));
  board.forget_received();
  CHECK(board.is_lost(Psn(103)));
  CHECK(board.held() == 0);
  board.sent(Psn(104), true);
  CHECK_FALSE(board.is_lost(Psn(104)));
}

TEST_CASE("packets far apart share no record") {
  Scoreboard board = sent(1, 5);
  board.received(Psn(5));
  board.sent(Psn(5 + 512), true);  // in the same place
  CHECK(board.held() == 0);
  CHECK(board.is_lost(Psn(5)));
  CHECK_FALSE(board.is_lost(Psn(5 + 512)));
}
