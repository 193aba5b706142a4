// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/arp.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

const Bytes& request() {
  static const Bytes bytes =
      from_hex("0001 0800 06 04 0001 525400000002 0a4d0002 000000000000 0a4d0001");
  return bytes;
}

TEST_CASE("ARP messages have their golden bytes") {
  Arp arp;
  arp.sender_mac = *MacAddress::from_string("52:54:00:00:00:02");
  arp.sender_ip = 0x0a4d0002;
  arp.target_ip = 0x0a4d0001;
  Bytes out(Arp::kSize, std::byte{0xa5});
  arp.serialize(std::span<std::byte, Arp::kSize>(out));
  REQUIRE(out == request());
  REQUIRE(Arp::parse(out) == arp);
}

TEST_CASE("ARP messages may be padded but not short") {
  Bytes padded = request();
  padded.resize(46);
  REQUIRE(Arp::parse(padded));
  for (std::size_t size = 0; size < Arp::kSize; ++size) {
    INFO(size << " bytes");
    const Bytes cut(request().begin(), request().begin() + size);
    REQUIRE_FALSE(Arp::parse(cut));
  }
}

TEST_CASE("ARP of anything but IPv4 over Ethernet is not ours") {
  for (std::size_t byte = 0; byte < 6; ++byte) {
    INFO("byte " << byte);
    Bytes other = request();
    other[byte] ^= std::byte{1};
    REQUIRE_FALSE(Arp::parse(other));
  }
}

TEST_CASE("any ARP message comes back from its values") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    Bytes bytes = random.bytes(Arp::kSize);
    std::copy_n(request().begin(), 6, bytes.begin());
    const auto arp = Arp::parse(bytes);
    REQUIRE(arp);
    Bytes out(Arp::kSize);
    arp->serialize(std::span<std::byte, Arp::kSize>(out));
    REQUIRE(out == bytes);
  }
}

}  // namespace
}  // namespace softrnic::wire
