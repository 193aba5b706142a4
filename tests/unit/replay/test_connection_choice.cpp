// SPDX-License-Identifier: BSD-3-Clause
#include "replay/connection_choice.hpp"

#include "unit/replay/sample.hpp"

namespace softrnic::replay::test {

namespace {

wire::Gid gid(const char* text) {
  return *wire::Gid::from_string(text);
}

}  // namespace

TEST_CASE("An end is an address, a queue pair, or both") {
  const auto both = EndName::from_string("10.0.0.1:0x11");
  REQUIRE(both);
  CHECK(both->address == gid("10.0.0.1"));
  CHECK(both->qpn == 0x11);
  const auto ipv6 = EndName::from_string("[fd00::1]:17");
  REQUIRE(ipv6);
  CHECK(ipv6->address == gid("fd00::1"));
  CHECK(ipv6->qpn == 17);
  CHECK_FALSE(EndName::from_string("10.0.0.1")->qpn);
  CHECK(EndName::from_string("[fd00::1]")->address == gid("fd00::1"));
  CHECK_FALSE(EndName::from_string(":0x12")->address);
  for (const char* wrong : {"", ":", "10.0.0", "10.0.0.1:", "10.0.0.1:0x1000000", "x:1", "[]:1"}) {
    INFO(wrong);
    CHECK_FALSE(EndName::from_string(wrong));
  }
  CHECK_FALSE(ConnectionChoice::from_string("10.0.0.1:1"));
  CHECK(ConnectionChoice::from_string("10.0.0.1:1-10.0.0.2:2"));
}

TEST_CASE("Without a choice it is the first reliable connection with requests") {
  const auto found = find_connection(sample("rc-all-v6"), {});
  REQUIRE(found);
  CHECK(found->side(0).address == gid("fd00::1"));
  CHECK(found->side(1).address == gid("fd00::2"));
  CHECK(found->side(0).qpn == 0x11);
}

TEST_CASE("The ends of a choice say who is the requester") {
  const auto found =
      find_connection(sample("rc-all-v6"), *ConnectionChoice::from_string("[fd00::2]-[fd00::1]"));
  REQUIRE(found);
  CHECK(found->side(0).address == gid("fd00::2"));
}

TEST_CASE("A choice that nothing answers is told what there is") {
  ConnectionChoice choice;
  choice.stream = 77;
  const auto missing = find_connection(sample("rc-send-v4"), choice);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().find("10.0.0.1:0x11-10.0.0.2:0x12") != std::string::npos);
  const auto datagrams = find_connection(sample("ud-send-v4"), {});
  REQUIRE_FALSE(datagrams);
  CHECK(datagrams.error().find("it has none") != std::string::npos);
  CHECK_FALSE(find_connection("/nowhere/at/all.pcap", {}));
}

}  // namespace softrnic::replay::test
