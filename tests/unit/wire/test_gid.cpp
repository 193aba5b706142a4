// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>

#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/gid.hpp"

namespace softrnic::wire {
namespace {

using testing::Random;

std::string canonical(std::string_view text) {
  const auto gid = Gid::from_string(text);
  return gid ? gid->to_string() : "none";
}

TEST_CASE("a GID is an IPv4 address, mapped, or an IPv6 address") {
  REQUIRE(Gid::from_string("10.77.0.1") == Gid::from_ipv4(0x0a4d0001));
  REQUIRE(Gid::from_string("::ffff:10.77.0.1") == Gid::from_ipv4(0x0a4d0001));
  REQUIRE(Gid::from_string("::ffff:a4d:1") == Gid::from_ipv4(0x0a4d0001));
  const Gid v4 = Gid::from_ipv4(0xfffefdfc);
  REQUIRE(v4.is_ipv4_mapped());
  REQUIRE(v4.ipv4() == 0xfffefdfc);
  REQUIRE(v4.bytes[10] == 0xff);
  REQUIRE(v4.bytes[15] == 0xfc);
  REQUIRE_FALSE(Gid::from_string("fd00:77::1")->is_ipv4_mapped());
  REQUIRE_FALSE(Gid::from_string("::fffe:10.77.0.1")->is_ipv4_mapped());
  REQUIRE_FALSE(Gid{}.is_ipv4_mapped());
}

// RFC 5952, 4.
TEST_CASE("GIDs are written as RFC 5952 recommends") {
  REQUIRE(canonical("10.77.0.1") == "10.77.0.1");
  REQUIRE(canonical("::ffff:0a4d:0001") == "10.77.0.1");
  REQUIRE(canonical("2001:0db8:0000:0000:0000:0000:0002:0001") == "2001:db8::2:1");  // 4.1, 4.2.1
  REQUIRE(canonical("2001:db8:0:1:1:1:1:1") == "2001:db8:0:1:1:1:1:1");              // 4.2.2
  REQUIRE(canonical("2001:0:0:1:0:0:0:1") == "2001:0:0:1::1");         // 4.2.3: the longest run
  REQUIRE(canonical("2001:db8:0:0:1:0:0:1") == "2001:db8::1:0:0:1");   // 4.2.3: else the first
  REQUIRE(canonical("2001:DB8::ABCD:Ef01") == "2001:db8::abcd:ef01");  // 4.3
  REQUIRE(canonical("::") == "::");
  REQUIRE(canonical("0:0:0:0:0:0:0:1") == "::1");
  REQUIRE(canonical("fe80::5054:ff:fe00:1") == "fe80::5054:ff:fe00:1");
}

TEST_CASE("anything else is no GID") {
  using namespace std::string_view_literals;
  for (const auto text :
       {""sv, "10.77.0"sv, "10.77.0.256"sv, "10.77.0.1/24"sv, "10.77.0.1 "sv, " 10.77.0.1"sv,
        "010.77.0.1"sv, "0x0a4d0001"sv, "fd00::77::1"sv, "fd00:77"sv, "12345::"sv, "::g"sv,
        "fe80::1%eth0"sv, "[::1]"sv, "10.77.0.1\0"sv, "::1\0garbage"sv,
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"sv,
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee:ffff"sv}) {
    INFO("'" << text << "'");
    REQUIRE_FALSE(Gid::from_string(text));
  }
}

TEST_CASE("any GID comes back from its text") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    Gid gid;
    // Runs of zeros in most, as in real addresses.
    const auto zeros = random.number<std::uint16_t>();
    for (std::size_t b = 0; b < 16; ++b) {
      gid.bytes[b] = (zeros >> b & 1) != 0 ? random.number<std::uint8_t>() : std::uint8_t{0};
    }
    INFO(gid.to_string());
    REQUIRE(Gid::from_string(gid.to_string()) == gid);
  }
}

TEST_CASE("link-local GIDs hold the MAC address with its universal bit turned over") {
  const Gid gid = Gid::link_local(*MacAddress::from_string("52:54:00:12:34:56"));
  REQUIRE(gid.to_string() == "fe80::5054:ff:fe12:3456");
  REQUIRE(gid.is_link_local());
  REQUIRE(Gid::link_local(*MacAddress::from_string("00:00:00:00:00:01")).to_string() ==
          "fe80::200:ff:fe00:1");
}

TEST_CASE("GIDs know their scope") {
  REQUIRE(Gid::from_string("fe80::1")->is_link_local());
  REQUIRE(Gid::from_string("febf::1")->is_link_local());
  REQUIRE_FALSE(Gid::from_string("fec0::1")->is_link_local());
  REQUIRE_FALSE(Gid::from_string("fd00::1")->is_link_local());
  REQUIRE(Gid::from_string("ff02::1")->is_multicast());
  REQUIRE(Gid::from_string("224.0.0.1")->is_multicast());
  REQUIRE(Gid::from_string("239.255.255.255")->is_multicast());
  REQUIRE_FALSE(Gid::from_string("223.255.255.255")->is_multicast());
  REQUIRE_FALSE(Gid::from_string("240.0.0.0")->is_multicast());
  REQUIRE_FALSE(Gid::from_string("fe80::1")->is_multicast());
  REQUIRE(Gid{}.is_zero());
  REQUIRE_FALSE(Gid::from_string("0.0.0.0")->is_zero());
  REQUIRE_FALSE(Gid::from_string("::1")->is_zero());
}

}  // namespace
}  // namespace softrnic::wire
