// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "frames.hpp"

namespace softrnic::wire {
namespace {

using testing::address_vector;
using testing::Bytes;
using testing::from_hex;

Bytes serialize(const AddressVector& av, std::size_t transport_size) {
  Bytes out(kHeadroom, std::byte{0xa5});
  const std::size_t size = av.serialize(out, transport_size, 0x1234);
  REQUIRE(size == av.size());
  for (std::size_t i = size; i < out.size(); ++i) REQUIRE(out[i] == std::byte{0xa5});
  out.resize(size);
  return out;
}

TEST_CASE("an address vector writes the headers below the BTH") {
  SECTION("v2 over IPv4") {
    const AddressVector av = address_vector(NetworkLayer::ipv4);
    REQUIRE(av.network_layer() == NetworkLayer::ipv4);
    REQUIRE(serialize(av, 16) == from_hex("525400000002 525400000001 0800"
                                          "456a 002c 1234 4000 3f11 1487 0a4d0001 0a4d0002"
                                          "c000 12b7 0018 0000"));
  }
  SECTION("v2 over IPv6, tagged") {
    const AddressVector av = address_vector(NetworkLayer::ipv6, true);
    REQUIRE(av.network_layer() == NetworkLayer::ipv6);
    REQUIRE(serialize(av, 16) == from_hex("525400000002 525400000001 8100 b123 86dd"
                                          "66aabcde 0018 11 3f"
                                          "fd000077000000000000000000000001"
                                          "fd000077000000000000000000000002"
                                          "c000 12b7 0018 0000"));
  }
  SECTION("v1") {
    const AddressVector av = address_vector(NetworkLayer::grh);
    REQUIRE(av.network_layer() == NetworkLayer::grh);
    REQUIRE(serialize(av, 0x1234) == from_hex("525400000002 525400000001 8915"
                                              "66aabcde 1234 1b 3f"
                                              "fd000077000000000000000000000001"
                                              "fd000077000000000000000000000002"));
  }
  SECTION("v1 with IPv4 addresses, which stay mapped") {
    AddressVector av = address_vector(NetworkLayer::grh);
    av.source = Gid::from_ipv4(0x0a4d0001);
    av.destination = Gid::from_ipv4(0x0a4d0002);
    REQUIRE(av.network_layer() == NetworkLayer::grh);
    REQUIRE(serialize(av, 16) == from_hex("525400000002 525400000001 8915"
                                          "66aabcde 0010 1b 3f"
                                          "00000000000000000000ffff0a4d0001"
                                          "00000000000000000000ffff0a4d0002"));
  }
}

TEST_CASE("any packet's headers fit in the headroom") {
  const AddressVector av = address_vector(NetworkLayer::ipv6, true);
  REQUIRE(av.size() + kMaxTransportHeaders <= kHeadroom);
}

}  // namespace
}  // namespace softrnic::wire
