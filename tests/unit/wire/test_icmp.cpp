// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/icmp.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

const Gid kSource = *Gid::from_string("fe80::5054:ff:fe00:2");
const Gid kDestination = *Gid::from_string("fe80::5054:ff:fe00:1");

Bytes serialize(const NeighborMessage& m, const Gid& source, const Gid& destination) {
  Bytes out(m.size(), std::byte{0xa5});
  m.serialize(out, source, destination);
  return out;
}

// Puts a right ICMPv6 checksum into a message that was changed.
Bytes sealed(Bytes message, const Gid& source, const Gid& destination) {
  Bytes pseudo(40);
  std::copy_n(std::as_bytes(std::span(source.bytes)).begin(), 16, pseudo.begin());
  std::copy_n(std::as_bytes(std::span(destination.bytes)).begin(), 16, pseudo.begin() + 16);
  store_be32(pseudo.data() + 32, static_cast<std::uint32_t>(message.size()));
  pseudo[39] = std::byte{58};
  store_be16(message.data() + 2, 0);
  pseudo.insert(pseudo.end(), message.begin(), message.end());
  store_be16(message.data() + 2, internet_checksum(pseudo));
  return message;
}

TEST_CASE("the internet checksum is the example of RFC 1071") {
  REQUIRE(internet_checksum(from_hex("0001 f203 f4f5 f6f7")) == 0x220d);
  REQUIRE(internet_checksum({}) == 0xffff);
  REQUIRE(internet_checksum({}, 0x12345) == 0xdcb9);
  REQUIRE(internet_checksum(from_hex("ff")) == 0x00ff);
  REQUIRE(internet_checksum(from_hex("ffff ffff")) == 0);
}

TEST_CASE("the internet checksum is the ones' complement sum of words at every length") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  const Bytes bytes = random.bytes(1600);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
      if (sum > 0xffff) sum = (sum & 0xffff) + 1;
    }
    INFO("size " << size);
    REQUIRE(internet_checksum(ByteView(bytes).first(size)) == static_cast<std::uint16_t>(~sum));
  }
}

TEST_CASE("an echo request has its golden bytes, over IPv4 and IPv6") {
  const Bytes data = from_hex("00010203");
  Echo echo{false, 0x1234, 7, data};
  Bytes out(echo.size());
  echo.serialize_icmp(out);
  REQUIRE(out == from_hex("08 00 e3c0 1234 0007 00010203"));
  echo.reply = true;
  echo.serialize_icmp(out);
  REQUIRE(out == from_hex("00 00 ebc0 1234 0007 00010203"));

  const Gid a = *Gid::from_string("::1");
  echo.serialize_icmpv6(out, a, a);
  REQUIRE(out == from_hex("81 00 6a78 1234 0007 00010203"));
  echo.reply = false;
  echo.serialize_icmpv6(out, a, a);
  REQUIRE(out == from_hex("80 00 6b78 1234 0007 00010203"));
}

TEST_CASE("any echo comes back from its message") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (std::size_t size = 0; size <= 1500; ++size) {
    INFO("size " << size);
    const Bytes data = random.bytes(size);
    const Echo echo{random.below(2) == 1, random.number<std::uint16_t>(),
                    random.number<std::uint16_t>(), data};
    Bytes out(echo.size());
    for (const bool v6 : {false, true}) {
      if (v6) {
        echo.serialize_icmpv6(out, kSource, kDestination);
      } else {
        echo.serialize_icmp(out);
      }
      const auto parsed =
          v6 ? Echo::parse_icmpv6(out, kSource, kDestination) : Echo::parse_icmp(out);
      REQUIRE(parsed);
      REQUIRE(parsed->reply == echo.reply);
      REQUIRE(parsed->identifier == echo.identifier);
      REQUIRE(parsed->sequence == echo.sequence);
      REQUIRE(Bytes(parsed->data.begin(), parsed->data.end()) == data);
    }
  }
}

TEST_CASE("echoes that are short, damaged or something else are none") {
  const Bytes data = from_hex("00010203");
  const Echo echo{false, 0x1234, 7, data};
  Bytes v4(echo.size());
  echo.serialize_icmp(v4);
  Bytes v6(echo.size());
  echo.serialize_icmpv6(v6, kSource, kDestination);

  for (std::size_t size = 0; size < Echo::kHeaderSize; ++size) {
    REQUIRE_FALSE(Echo::parse_icmp(Bytes(v4.begin(), v4.begin() + size)));
    REQUIRE_FALSE(Echo::parse_icmpv6(Bytes(v6.begin(), v6.begin() + size), kSource, kDestination));
  }
  for (std::size_t bit = 0; bit < v4.size() * 8; ++bit) {
    INFO("bit " << bit);
    Bytes changed = v4;
    changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    REQUIRE_FALSE(Echo::parse_icmp(changed));
    changed = v6;
    changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    REQUIRE_FALSE(Echo::parse_icmpv6(changed, kSource, kDestination));
  }
  // Addresses are part of the ICMPv6 checksum, though their order is not.
  REQUIRE(Echo::parse_icmpv6(v6, kDestination, kSource));
  REQUIRE_FALSE(Echo::parse_icmpv6(v6, kSource, *Gid::from_string("fe80::1")));
  // Right checksum, another type or code.
  REQUIRE(Echo::parse_icmpv6(sealed(v6, kSource, kDestination), kSource, kDestination));
  for (const auto& [type, code] : {std::pair{3, 0}, std::pair{135, 0}, std::pair{128, 1}}) {
    Bytes other = v6;
    other[0] = static_cast<std::byte>(type);
    other[1] = static_cast<std::byte>(code);
    REQUIRE_FALSE(Echo::parse_icmpv6(sealed(other, kSource, kDestination), kSource, kDestination));
  }
}

NeighborMessage solicitation() {
  NeighborMessage m;
  m.target = kDestination;
  m.link_address = MacAddress::from_string("52:54:00:00:00:02");
  return m;
}

TEST_CASE("neighbour messages have their golden bytes") {
  const Gid group = solicited_node_multicast(kDestination);
  const Bytes ns = serialize(solicitation(), kSource, group);
  REQUIRE(ns == sealed(from_hex("87 00 0000 00000000 fe80000000000000 505400fffe000001"
                                "01 01 525400000002"),
                       kSource, group));
  NeighborMessage m = solicitation();
  m.advertisement = true;
  m.router = true;
  m.solicited = true;
  REQUIRE(serialize(m, kSource, kDestination) ==
          sealed(from_hex("88 00 0000 c0000000 fe80000000000000 505400fffe000001"
                          "02 01 525400000002"),
                 kSource, kDestination));
  m.router = false;
  m.solicited = false;
  m.override_flag = true;
  m.link_address.reset();
  REQUIRE(m.size() == 24);
  REQUIRE(serialize(m, kSource, kDestination) ==
          sealed(from_hex("88 00 0000 20000000 fe80000000000000 505400fffe000001"), kSource,
                 kDestination));
}

TEST_CASE("any neighbour message comes back from its bytes") {
  for (unsigned flags = 0; flags < 32; ++flags) {
    INFO("flags " << flags);
    NeighborMessage m = solicitation();
    m.advertisement = (flags & 1) != 0;
    m.router = m.advertisement && (flags & 2) != 0;
    m.solicited = m.advertisement && (flags & 4) != 0;
    m.override_flag = m.advertisement && (flags & 8) != 0;
    if ((flags & 16) != 0) m.link_address.reset();
    const auto parsed =
        NeighborMessage::parse(serialize(m, kSource, kDestination), kSource, kDestination);
    REQUIRE(parsed);
    REQUIRE(parsed->advertisement == m.advertisement);
    REQUIRE(parsed->router == m.router);
    REQUIRE(parsed->solicited == m.solicited);
    REQUIRE(parsed->override_flag == m.override_flag);
    REQUIRE(parsed->target == m.target);
    REQUIRE(parsed->link_address == m.link_address);
  }
}

std::optional<NeighborMessage> parse(const Bytes& message, const Gid& source = kSource,
                                     const Gid& destination = kDestination) {
  return NeighborMessage::parse(sealed(message, source, destination), source, destination);
}

TEST_CASE("options of neighbour messages are walked") {
  const Bytes plain = from_hex("87 00 0000 00000000 fe80000000000000 505400fffe000001");
  const auto with = [&plain](std::string_view options) {
    Bytes message = plain;
    const Bytes more = from_hex(options);
    message.insert(message.end(), more.begin(), more.end());
    return parse(message);
  };
  SECTION("none") {
    REQUIRE(with(""));
    REQUIRE_FALSE(with("")->link_address);
  }
  SECTION("others are skipped") {
    const auto m = with("0e02 0102030405060708090a0b0c0d0e 01 01 525400000002");
    REQUIRE(m);
    REQUIRE(m->link_address == MacAddress::from_string("52:54:00:00:00:02"));
  }
  SECTION("an advertisement's option does not count in a solicitation") {
    REQUIRE(with("02 01 525400000002"));
    REQUIRE_FALSE(with("02 01 525400000002")->link_address);
  }
  SECTION("a length of zero, or past the end, spoils the message") {
    REQUIRE_FALSE(with("01 00 525400000002"));
    REQUIRE_FALSE(with("01 02 525400000002"));
    REQUIRE_FALSE(with("0e ff 525400000002"));
    REQUIRE_FALSE(with("01"));
    REQUIRE_FALSE(with("01 01 5254000000"));
  }
  SECTION("an address of another size is not taken") {
    const auto m = with("01 02 5254000000020000 000000000000");
    REQUIRE(m);
    REQUIRE_FALSE(m->link_address);
  }
}

TEST_CASE("neighbour messages that are short, damaged or something else are none") {
  const Bytes message = serialize(solicitation(), kSource, kDestination);
  for (std::size_t size = 0; size < 24; ++size) {
    INFO(size << " bytes");
    REQUIRE_FALSE(NeighborMessage::parse(Bytes(message.begin(), message.begin() + size), kSource,
                                         kDestination));
  }
  for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
    INFO("bit " << bit);
    Bytes changed = message;
    changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    REQUIRE_FALSE(NeighborMessage::parse(changed, kSource, kDestination));
  }
  for (const auto& [type, code] : {std::pair{134, 0}, std::pair{128, 0}, std::pair{135, 1}}) {
    Bytes other = message;
    other[0] = static_cast<std::byte>(type);
    other[1] = static_cast<std::byte>(code);
    REQUIRE_FALSE(parse(other));
  }
}

// RFC 4861, 7.1.1 and 7.1.2.
TEST_CASE("neighbour messages must make sense for their addresses") {
  const Gid unspecified{};
  const Gid group = solicited_node_multicast(kDestination);
  NeighborMessage m = solicitation();
  SECTION("a multicast target is no neighbour") {
    m.target = group;
    REQUIRE_FALSE(parse(serialize(m, kSource, kDestination)));
  }
  SECTION("a solicitation from nobody goes to the target's group and names no address") {
    REQUIRE_FALSE(parse(serialize(m, unspecified, group), unspecified, group));
    m.link_address.reset();
    REQUIRE(parse(serialize(m, unspecified, group), unspecified, group));
    REQUIRE_FALSE(parse(serialize(m, unspecified, kDestination), unspecified, kDestination));
  }
  SECTION("a solicited advertisement goes to one host") {
    m.advertisement = true;
    const Gid all = *Gid::from_string("ff02::1");
    REQUIRE(parse(serialize(m, kSource, all), kSource, all));
    m.solicited = true;
    REQUIRE_FALSE(parse(serialize(m, kSource, all), kSource, all));
    REQUIRE(parse(serialize(m, kSource, kDestination)));
  }
}

TEST_CASE("multicast groups map to Ethernet groups") {
  REQUIRE(solicited_node_multicast(*Gid::from_string("fd00:77::12:3456")).to_string() ==
          "ff02::1:ff12:3456");
  REQUIRE(multicast_mac(*Gid::from_string("ff02::1:ff12:3456")).to_string() == "33:33:ff:12:34:56");
  REQUIRE(multicast_mac(*Gid::from_string("224.0.0.251")).to_string() == "01:00:5e:00:00:fb");
  REQUIRE(multicast_mac(*Gid::from_string("239.255.1.2")).to_string() == "01:00:5e:7f:01:02");
}

}  // namespace
}  // namespace softrnic::wire
