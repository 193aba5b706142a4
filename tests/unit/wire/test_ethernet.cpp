// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

TEST_CASE("MAC addresses are read and written as six pairs of digits") {
  const auto mac = MacAddress::from_string("52:54:00:aB:Cd:01");
  REQUIRE(mac);
  REQUIRE(mac->bytes == std::array<std::uint8_t, 6>{0x52, 0x54, 0x00, 0xab, 0xcd, 0x01});
  REQUIRE(mac->to_string() == "52:54:00:ab:cd:01");
  REQUIRE(MacAddress::broadcast().to_string() == "ff:ff:ff:ff:ff:ff");
  REQUIRE(MacAddress::broadcast().is_multicast());
  REQUIRE(MacAddress::from_string("01:00:5e:00:00:01")->is_multicast());
  REQUIRE_FALSE(mac->is_multicast());
}

TEST_CASE("anything else is no MAC address") {
  using namespace std::string_view_literals;
  for (const auto text : {""sv, "52:54:00:00:00"sv, "52:54:00:00:00:1"sv, "52:54:00:00:00:001"sv,
                          "52:54:00:00:00:0g"sv, "52-54-00-00-00-01"sv, "525400000001"sv,
                          "52:54:00:00:00:01 "sv, " 2:54:00:00:00:01"sv, "5:254:00:00:00:01"sv,
                          "+2:54:00:00:00:01"sv, "52:54:00:00:00:\0001"sv}) {
    INFO("'" << text << "'");
    REQUIRE_FALSE(MacAddress::from_string(text));
  }
}

TEST_CASE("Ethernet headers have their golden bytes, with and without a tag") {
  EthernetHeader h;
  h.destination = *MacAddress::from_string("52:54:00:00:00:02");
  h.source = *MacAddress::from_string("52:54:00:00:00:01");
  h.ethertype = ethertype::kRoceV1;
  Bytes out(18, std::byte{0xa5});
  REQUIRE(h.serialize(out) == 14);
  REQUIRE(out == from_hex("525400000002 525400000001 8915 a5a5a5a5"));
  REQUIRE(EthernetHeader::parse(out) == h);

  h.vlan = VlanTag{5, true, 0x123};
  REQUIRE(h.size() == 18);
  REQUIRE(h.serialize(out) == 18);
  REQUIRE(out == from_hex("525400000002 525400000001 8100 b123 8915"));
  REQUIRE(EthernetHeader::parse(out) == h);
}

TEST_CASE("a tag keeps its three fields apart") {
  EthernetHeader h;
  h.vlan = VlanTag{0xff, false, 0xffff};
  Bytes out(18);
  h.serialize(out);
  REQUIRE(EthernetHeader::parse(out)->vlan == VlanTag{7, false, 0xfff});
}

TEST_CASE("Ethernet headers that are cut short are none") {
  const Bytes plain = from_hex("525400000002 525400000001 0800");
  REQUIRE(EthernetHeader::parse(plain));
  const Bytes tagged = from_hex("525400000002 525400000001 8100 0001 0800");
  REQUIRE(EthernetHeader::parse(tagged));
  for (std::size_t size = 0; size < 14; ++size) {
    INFO(size << " bytes");
    REQUIRE_FALSE(EthernetHeader::parse(ByteView(plain).first(size)));
  }
  for (std::size_t size = 0; size < 18; ++size) {
    INFO(size << " bytes, tagged");
    REQUIRE_FALSE(EthernetHeader::parse(ByteView(tagged).first(size)));
  }
}

TEST_CASE("any Ethernet header comes back from its values") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    Bytes bytes = random.bytes(18);
    if (i % 2 == 0) store_be16(bytes.data() + 12, ethertype::kVlan);
    const auto h = EthernetHeader::parse(bytes);
    REQUIRE(h);
    REQUIRE(h->size() == (i % 2 == 0 ? 18 : 14));
    Bytes out(h->size());
    REQUIRE(h->serialize(out) == out.size());
    bytes.resize(out.size());
    REQUIRE(out == bytes);
  }
}

}  // namespace
}  // namespace softrnic::wire
