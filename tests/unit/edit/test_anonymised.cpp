// SPDX-License-Identifier: BSD-3-Clause
#include "edit/anonymised.hpp"

#include <set>

#include "editing.hpp"
#include "wire/mad.hpp"

namespace softrnic::edit::test {
namespace {

using wire::Gid;
using wire::MacAddress;

constexpr std::string_view kKey = "a key of the test";

unsigned common_bits(const Gid& a, const Gid& b) {
  for (unsigned i = 0; i < 128; ++i) {
    if (((a.bytes[i / 8] ^ b.bytes[i / 8]) >> (7 - i % 8) & 1) != 0) return i;
  }
  return 128;
}

TEST_CASE("permutations are one to one, and another key gives another one") {
  const KeyedPermutation one(kKey);
  const KeyedPermutation other("another");
  std::set<std::uint64_t> seen;
  unsigned same = 0;
  for (std::uint64_t value = 0; value < 4096; ++value) {
    const std::uint64_t result = one.permute(7, value, 12);
    REQUIRE(result < 4096);
    seen.insert(result);
    if (result == other.permute(7, value, 12)) ++same;
  }
  CHECK(seen.size() == 4096);
  CHECK(same < 20);
  CHECK(one.permute(7, 5, 64) == KeyedPermutation(kKey).permute(7, 5, 64));
  CHECK(one.permute(7, 5, 64) != one.permute(8, 5, 64));
}

TEST_CASE("IP addresses keep their common prefixes, and no more") {
  const Anonymised hidden(kKey);
  const auto hide = [&](const char* text) {
    return hidden.address(*Gid::from_string(text), Side::source);
  };
  const std::vector<const char*> addresses{"10.0.0.1",    "10.0.0.2",    "10.0.1.1", "10.128.0.1",
                                           "192.168.0.1", "192.168.0.2", "9.9.9.9"};
  for (const char* a : addresses) {
    for (const char* b : addresses) {
      INFO(a << " " << b);
      CHECK(common_bits(*Gid::from_string(a), *Gid::from_string(b)) ==
            common_bits(hide(a), hide(b)));
    }
    CHECK(hide(a) != *Gid::from_string(a));
    CHECK(hide(a).is_ipv4_mapped());
    CHECK_FALSE(hide(a).is_multicast());
  }
  CHECK(common_bits(hide("fd00::1"), hide("fd00::2")) == 126);
  CHECK(hide("fe80::1").is_link_local());
  CHECK(hide("fe80::1") != *Gid::from_string("fe80::1"));
}

TEST_CASE("what means the same to everyone stays") {
  const Anonymised hidden(kKey);
  for (const char* text : {"224.0.0.1", "255.255.255.255", "0.0.0.0", "::", "::1", "ff02::1"}) {
    INFO(text);
    CHECK(hidden.address(*Gid::from_string(text), Side::source) == *Gid::from_string(text));
  }
  CHECK(hidden.mac(MacAddress::broadcast(), Side::source) == MacAddress::broadcast());
  CHECK(hidden.number(Quantity::qpn, 1, {}) == 1);
  CHECK(hidden.number(Quantity::queue_key, wire::kGeneralServiceQueueKey, {}) ==
        wire::kGeneralServiceQueueKey);
  CHECK(hidden.number(Quantity::qpn, 0x12, {}) > 1);
  CHECK(hidden.number(Quantity::udp_port, 0xc001, {}) >= 0xc000);
  CHECK(hidden.number(Quantity::udp_port, 0x1001, {}) < 0xc000);
}

TEST_CASE("addresses under one key keep their distances") {
  const Anonymised hidden(kKey);
  const auto hide = [&](std::uint64_t address, std::uint32_t key) {
    return hidden.virtual_address(address, key, {});
  };
  CHECK(hide(0x7000, 1) - hide(0x5123, 1) == 0x7000 - 0x5123);
  CHECK((hide(0x5123, 1) & 0xfff) == 0x123);
  CHECK(hide(0x5000, 1) - 0x5000 != hide(0x5000, 2) - 0x5000);
}

TEST_CASE("an anonymised frame has right sums and nothing of the message") {
  for (const auto layer :
       {wire::NetworkLayer::ipv4, wire::NetworkLayer::ipv6, wire::NetworkLayer::grh}) {
    const Frames frames{kept(capture::test::frame({.layer = layer, .payload = 100}))};
    const Edited edited = edit({{"anonymise", kKey}}, frames);
    const auto reading = reading_of(edited.frames.at(0));
    CHECK(reading.fault == capture::HeaderFault::none);
    CHECK(reading.frame.icrc == analysis::IcrcVerdict::good);
    CHECK(reading.frame.payload_size == 100);
    for (const std::byte byte : reading.frame.payload) CHECK(byte == std::byte{});
    CHECK(edit({{"anonymise", kKey}}, frames).frames == edited.frames);
    CHECK(edit({{"anonymise", "another"}}, frames).frames != edited.frames);
  }
}

TEST_CASE("an anonymised solicited node follows its group") {
  const Anonymised hidden(kKey);
  const Gid group = hidden.address(*Gid::from_string("ff02::1:ff12:3456"), Side::destination);
  const MacAddress mac =
      hidden.mac(*MacAddress::from_string("33:33:ff:12:34:56"), Side::destination);
  CHECK(group.bytes[12] == 0xff);
  CHECK(std::equal(mac.bytes.begin() + 3, mac.bytes.end(), group.bytes.begin() + 13));
}

}  // namespace
}  // namespace softrnic::edit::test
