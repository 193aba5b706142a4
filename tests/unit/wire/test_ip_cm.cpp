// SPDX-License-Identifier: BSD-3-Clause
// RDMA CM's IP addressing: service ids and the header in front of the private data.
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/ip_cm.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

IpCmHeader parse(const Bytes& bytes) {
  return IpCmHeader::parse(std::span<const std::byte, IpCmHeader::kSize>(bytes));
}

Bytes serialize(const IpCmHeader& header) {
  Bytes bytes(IpCmHeader::kSize, std::byte{0xa5});
  header.serialize(std::span<std::byte, IpCmHeader::kSize>(bytes));
  return bytes;
}

TEST_CASE("a service id of an IP port names protocol and port, others none") {
  REQUIRE(IpServiceId{6, 7174}.value() == 0x0000000001061c06);
  REQUIRE(IpServiceId::from(0x0000000001061c06) == IpServiceId{6, 7174});
  REQUIRE(IpServiceId::from(0x0000000001111c06) == IpServiceId{17, 7174});
  REQUIRE(IpServiceId::from(0x00000000013f0000) == IpServiceId{0x3f, 0});
  REQUIRE_FALSE(IpServiceId::from(0x0000000002061c06));
  REQUIRE_FALSE(IpServiceId::from(0x1000000001061c06));
  REQUIRE_FALSE(IpServiceId::from(0));
}

TEST_CASE("the IP header of a REQ has its golden bytes") {
  SECTION("IPv4, as Linux sends it") {
    IpCmHeader header;
    header.source_port = 0xa8d8;
    header.set_addresses(*Gid::from_string("10.77.0.2"), *Gid::from_string("10.77.0.1"));
    const Bytes bytes =
        from_hex("00 40 a8d8 000000000000000000000000 0a4d0002 000000000000000000000000 0a4d0001");
    REQUIRE(serialize(header) == bytes);
    REQUIRE(parse(bytes) == header);
    REQUIRE(header.source_address().to_string() == "10.77.0.2");
    REQUIRE(header.destination_address().to_string() == "10.77.0.1");
  }
  SECTION("IPv6") {
    IpCmHeader header;
    header.major_version = 1;
    header.minor_version = 2;
    header.reserved = 3;
    header.source_port = 1;
    header.set_addresses(*Gid::from_string("fd00::1"), *Gid::from_string("fd00::2"));
    const Bytes bytes =
        from_hex("12 63 0001 fd000000000000000000000000000001 fd000000000000000000000000000002");
    REQUIRE(serialize(header) == bytes);
    REQUIRE(parse(bytes) == header);
    REQUIRE(header.source_address().to_string() == "fd00::1");
    REQUIRE(header.destination_address().to_string() == "fd00::2");
  }
}

TEST_CASE("each field of the IP header is a value of it") {
  const auto seed = Catch::rngSeed();
  Random random(seed);
  for (const Field& field : IpCmHeader::kFields) {
    INFO(field.name << ", seed " << seed);
    const Bytes before = random.bytes(IpCmHeader::kSize);
    Bytes after = before;
    put(after.data(), field, ~get(before.data(), field));
    REQUIRE_FALSE(parse(before) == parse(after));
    REQUIRE(serialize(parse(before)) == before);
    REQUIRE(serialize(parse(after)) == after);
  }
}

}  // namespace
}  // namespace softrnic::wire
