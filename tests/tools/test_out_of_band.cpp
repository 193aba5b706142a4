// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cstdio>

#include "failure.hpp"
#include "out_of_band.hpp"

using namespace softrnic;
using namespace softrnic::tools;

namespace {

EndpointAddress example() {
  return {0, 0x11, 0xabcdef, *wire::Gid::from_string("10.77.0.9")};
}

}  // namespace

TEST_CASE("an address travels as ibv_rc_pingpong writes it") {
  CHECK(to_message(example()) == "0000:000011:abcdef:00000000000000000000ffff0a4d0009");
  CHECK(to_message(example()).size() + 1 == kMessageSize);
  CHECK(kMessageSize == sizeof "0000:000000:000000:00000000000000000000000000000000");
}

TEST_CASE("an offer of selective repeat reads as the same address to those who do not know it") {
  EndpointAddress offering = example();
  offering.offers_selective_repeat = true;
  const std::string message = to_message(offering);
  CHECK(message == "0x00:000011:abcdef:00000000000000000000ffff0a4d0009");
  CHECK(message.size() + 1 == kMessageSize);
  CHECK(parse_message(message) == offering);
  // As ibv_rc_pingpong reads it.
  unsigned lid = 77;
  unsigned qpn = 0;
  unsigned psn = 0;
  char gid[33] = {};
  REQUIRE(std::sscanf(message.c_str(), "%x:%x:%x:%32s", &lid, &qpn, &psn, gid) == 4);
  CHECK(lid == 0);
  CHECK(qpn == 0x11);
  CHECK(psn == 0xabcdef);
  CHECK(std::string(gid) == "00000000000000000000ffff0a4d0009");
  CHECK(describe(offering) == describe(example()));
}

TEST_CASE("an address that was written is read back") {
  CHECK(parse_message(to_message(example())) == example());
  const EndpointAddress largest{0xffff, 0xffffff, 0xffffff,
                                *wire::Gid::from_string("ffff::ffff:ffff:ffff")};
  CHECK(parse_message(to_message(largest)) == largest);
}

TEST_CASE("an address in capitals is read") {
  CHECK(parse_message("0000:000011:ABCDEF:00000000000000000000FFFF0A4D0009") == example());
}

TEST_CASE("what is no address is refused") {
  const std::string good = to_message(example());
  for (std::size_t length = 0; length < good.size(); ++length) {
    INFO("cut to " << length);
    CHECK_FALSE(parse_message(std::string_view(good).substr(0, length)));
  }
  CHECK_FALSE(parse_message(good + "0"));
  CHECK_FALSE(parse_message("0000:000011:abcdef"));
  CHECK_FALSE(parse_message("10000:000011:abcdef:00000000000000000000ffff0a4d0009"));
  CHECK_FALSE(parse_message("0000:1000000:abcdef:00000000000000000000ffff0a4d0009"));
  CHECK_FALSE(parse_message("0000:000011:1abcdef:00000000000000000000ffff0a4d0009"));
  CHECK_FALSE(parse_message("0000:000011:abcdef:00000000000000000000ffff0a4d000g"));
  CHECK_FALSE(parse_message("0000:-00011:abcdef:00000000000000000000ffff0a4d0009"));
  CHECK_FALSE(parse_message("0000: 00011:abcdef:00000000000000000000ffff0a4d0009"));
  CHECK_FALSE(parse_message("GET / HTTP/1.1"));
}

TEST_CASE("an address is described in the words of ibv_rc_pingpong") {
  CHECK(describe(example()) == "LID 0x0000, QPN 0x000011, PSN 0xabcdef, GID ::ffff:10.77.0.9");
}

TEST_CASE("a port that somebody listens on is refused with a way out") {
  // Any free port will do; the second listener on it must fail.
  std::uint16_t port = 40000;
  Socket first;
  for (; port < 41000 && !first.valid(); ++port) {
    try {
      first = listen_on(port);
    } catch (const Failure&) {
    }
  }
  REQUIRE(first.valid());
  --port;
  try {
    listen_on(port);
    FAIL("the port was taken and yet given");
  } catch (const Failure& failure) {
    CHECK(failure.exit_status() == kFailure);
    CHECK(std::string(failure.what()) ==
          fmt::format("TCP port {} is taken: choose another with -p", port));
  }
}
