// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "nic/gid_table.hpp"

namespace softrnic::nic {
namespace {

const wire::MacAddress kMac{{0x52, 0x54, 0, 0x12, 0x34, 0x56}};

InterfaceAddress address(std::string_view text) {
  const auto parsed = InterfaceAddress::from_string(text);
  REQUIRE(parsed);
  return *parsed;
}

wire::Gid gid(std::string_view text) {
  return wire::Gid::from_string(text).value();
}

TEST_CASE("the GID table lists link-local first, each address as v1 and v2") {
  const std::vector<InterfaceAddress> addresses{address("10.0.0.1/24"), address("fd00::1/64")};
  const GidTable table(kMac, addresses);
  const std::vector<std::pair<std::string, wire::RoceVersion>> expected{
      {"fe80::5054:ff:fe12:3456", wire::RoceVersion::v1},
      {"fe80::5054:ff:fe12:3456", wire::RoceVersion::v2},
      {"10.0.0.1", wire::RoceVersion::v1},
      {"10.0.0.1", wire::RoceVersion::v2},
      {"fd00::1", wire::RoceVersion::v1},
      {"fd00::1", wire::RoceVersion::v2}};
  REQUIRE(table.entries().size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const GidEntry* entry = table.find(static_cast<std::uint32_t>(i));
    REQUIRE(entry != nullptr);
    CHECK(entry->gid.to_string() == expected[i].first);
    CHECK(entry->version == expected[i].second);
  }
  CHECK(table.find(6) == nullptr);
  CHECK(table.find(0xffffffff) == nullptr);
  CHECK(table.owns(gid("10.0.0.1")));
  CHECK_FALSE(table.owns(gid("10.0.0.2")));
  CHECK_FALSE(table.owns(wire::Gid{}));
}

TEST_CASE("the GID table drops repeats and addresses no interface can have") {
  const std::vector<InterfaceAddress> addresses{
      address("10.0.0.1/24"), address("10.0.0.1/16"), address("fe80::5054:ff:fe12:3456/64"),
      InterfaceAddress{gid("ff02::1"), 64}, InterfaceAddress{wire::Gid{}, 0}};
  CHECK(GidTable(kMac, addresses).entries().size() == 4);
}

TEST_CASE("the source address fits the destination") {
  const std::vector<InterfaceAddress> addresses{address("10.0.0.1/24"), address("192.168.7.1/16"),
                                                address("fd00::1/64"), address("2001:db8::1/32")};
  const GidTable table(kMac, addresses);
  CHECK(table.source_for(gid("10.0.0.9")) == gid("10.0.0.1"));
  CHECK(table.source_for(gid("192.168.200.9")) == gid("192.168.7.1"));
  CHECK(table.source_for(gid("192.168.7.1")) == gid("192.168.7.1"));
  CHECK(table.source_for(gid("fd00::2")) == gid("fd00::1"));
  CHECK(table.source_for(gid("2001:db8:ffff::2")) == gid("2001:db8::1"));
  CHECK(table.source_for(gid("fe80::9")) == gid("fe80::5054:ff:fe12:3456"));
  CHECK(table.source_for(gid("8.8.8.8"))->is_ipv4_mapped());
  CHECK_FALSE(GidTable(kMac, {}).source_for(gid("8.8.8.8")));
}

TEST_CASE("interface addresses are read strictly and written back") {
  for (const char* text :
       {"10.0.0.1/24", "fd00::1/64", "0:0:0:0:0:ffff:10.0.0.1/32", "10.0.0.1/0", "fe80::1/128"}) {
    INFO(text);
    const auto parsed = InterfaceAddress::from_string(text);
    REQUIRE(parsed);
    CHECK(InterfaceAddress::from_string(parsed->to_string()) == parsed);
  }
  CHECK(address("10.0.0.1").prefix_length == 32);
  CHECK(address("fd00::1").prefix_length == 128);
  CHECK(address("10.0.0.1/8").to_string() == "10.0.0.1/8");
  for (const char* text :
       {"", "/", "/24", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/24x", "10.0.0/24",
        "fd00::1/129", "fd00::1/64/64", " 10.0.0.1/24", "10.0.0.1/ 24", "0.0.0.0/0", "::/0",
        "224.0.0.1/4", "ff02::1/64", "host/24", "10.0.0.1/99999999999"}) {
    INFO(text);
    CHECK_FALSE(InterfaceAddress::from_string(text));
  }
}

}  // namespace
}  // namespace softrnic::nic
