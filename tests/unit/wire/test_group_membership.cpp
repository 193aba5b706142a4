// SPDX-License-Identifier: BSD-3-Clause
#include "wire/group_membership.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "wire/icmp.hpp"
#include "wire/ipv4.hpp"

using namespace softrnic::wire;

namespace {

using Message = MembershipMessage;
using Igmp = std::array<std::byte, Message::kIgmpSize>;
using Mld = std::array<std::byte, Message::kMldSize>;

const Gid kRouter = Gid::from_string("fe80::1").value();

Gid gid(const char* text) {
  return Gid::from_string(text).value();
}

template <class Bytes>
Bytes bytes_of(const std::vector<int>& values) {
  Bytes bytes{};
  for (std::size_t i = 0; i < values.size(); ++i) bytes[i] = static_cast<std::byte>(values[i]);
  return bytes;
}

void fix(Igmp& bytes) {
  store_be16(bytes.data() + 2, 0);
  store_be16(bytes.data() + 2, internet_checksum(bytes));
}

void fix(Mld& bytes, const Gid& source, const Gid& destination) {
  const ByteSpan message = ByteSpan(bytes).subspan(Message::kHopByHopSize);
  store_be16(message.data() + 2, 0);
  store_be16(
      message.data() + 2,
      internet_checksum(message, icmpv6_pseudo_header_sum(message.size(), source, destination)));
}

}  // namespace

TEST_CASE("IGMP messages: their bytes, there and back", "[membership]") {
  Igmp bytes;
  Message{MembershipKind::report, gid("239.1.2.3"), {}}.serialize_igmp(bytes);
  CHECK(bytes == bytes_of<Igmp>({0x16, 0, 0xf8, 0xfa, 239, 1, 2, 3}));
  Message{MembershipKind::leave, gid("239.1.2.3"), {}}.serialize_igmp(bytes);
  CHECK(bytes == bytes_of<Igmp>({0x17, 0, 0xf7, 0xfa, 239, 1, 2, 3}));
  CHECK(Message::parse_igmp(bytes)->kind == MembershipKind::leave);
  CHECK(Message::parse_igmp(bytes)->group == gid("239.1.2.3"));

  Message{MembershipKind::query, {}, std::chrono::seconds(10)}.serialize_igmp(bytes);
  CHECK(bytes == bytes_of<Igmp>({0x11, 100, 0xee, 0x9b, 0, 0, 0, 0}));
  auto query = Message::parse_igmp(bytes).value();
  CHECK(query.kind == MembershipKind::query);
  CHECK(query.group.is_zero());
  CHECK(query.answer_within == std::chrono::seconds(10));
  bytes[1] = std::byte{0};  // version 1
  fix(bytes);
  CHECK(Message::parse_igmp(bytes)->answer_within == std::chrono::seconds(10));
  bytes[1] = std::byte{0x80 | 0x10 | 0x05};  // version 3: (5 | 16) << (1 + 3) tenths
  fix(bytes);
  CHECK(Message::parse_igmp(bytes)->answer_within == std::chrono::milliseconds(33600));
  // A query of version 3 is longer.
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.resize(12);
  CHECK(Message::parse_igmp(longer)->kind == MembershipKind::query);
}

TEST_CASE("IGMP messages that are not believed", "[membership]") {
  Igmp good;
  Message{MembershipKind::report, gid("239.1.2.3"), {}}.serialize_igmp(good);
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(Message::parse_igmp(ByteView(good).first(size)));
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    Igmp bad = good;
    bad[i] ^= std::byte{0x40};
    CHECK_FALSE(Message::parse_igmp(bad));
  }
  for (const int type : {0x12, 0x13, 0x22, 0xff}) {
    Igmp bad = good;
    bad[0] = static_cast<std::byte>(type);
    fix(bad);
    CHECK_FALSE(Message::parse_igmp(bad));
  }
  for (const std::uint32_t group : {0u, 0x0a000001u}) {
    Igmp bad = good;
    store_be32(bad.data() + 4, group);
    fix(bad);
    CHECK_FALSE(Message::parse_igmp(bad));
  }
}

TEST_CASE("MLD messages: their bytes, there and back", "[membership]") {
  const Gid group = gid("ff0e::5");
  for (const auto kind : {MembershipKind::query, MembershipKind::report, MembershipKind::leave}) {
    const Message message{kind, group, std::chrono::milliseconds(1234)};
    Mld bytes;
    message.serialize_mld(bytes, kRouter, message.destination());
    CHECK(std::memcmp(bytes.data(), "\x3a\x00\x05\x02\x00\x00\x01\x00", 8) == 0);
    CHECK(std::to_integer<int>(bytes[8]) == 130 + static_cast<int>(kind));
    const auto parsed = Message::parse_mld(bytes, kRouter, message.destination());
    REQUIRE(parsed);
    CHECK(parsed->kind == kind);
    CHECK(parsed->group == group);
    if (kind == MembershipKind::query) CHECK(parsed->answer_within == message.answer_within);
  }
  CHECK(Message{MembershipKind::report, group, {}}.destination() == group);
  CHECK(Message{MembershipKind::leave, group, {}}.destination() == gid("ff02::2"));
  CHECK(Message{MembershipKind::leave, gid("239.1.1.1"), {}}.destination() == gid("224.0.0.2"));
}

TEST_CASE("MLD messages that are not believed", "[membership]") {
  const Gid group = gid("ff0e::5");
  Mld good;
  Message{MembershipKind::report, group, {}}.serialize_mld(good, kRouter, group);
  REQUIRE(Message::parse_mld(good, kRouter, group));
  CHECK_FALSE(Message::parse_mld(good, gid("fd00::1"), group));  // not link-local
  CHECK_FALSE(Message::parse_mld(good, kRouter, gid("ff0e::6")));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(Message::parse_mld(ByteView(good).first(size), kRouter, group));
  }
  const auto refused = [&](std::size_t at, int value) {
    Mld bad = good;
    bad[at] = static_cast<std::byte>(value);
    fix(bad, kRouter, group);
    return !Message::parse_mld(bad, kRouter, group);
  };
  CHECK(refused(0, 17));     // not ICMPv6
  CHECK(refused(1, 4));      // options longer than all
  CHECK(refused(2, 6));      // no router alert
  CHECK(refused(3, 4));      // it is cut short
  CHECK(refused(3, 200));    // and runs over the end
  CHECK(refused(5, 1));      // an alert for something else
  CHECK(refused(8, 143));    // MLDv2's report
  CHECK(refused(16, 0xfd));  // no group
}
