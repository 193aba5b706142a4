// SPDX-License-Identifier: BSD-3-Clause
#include "wire/lrh.hpp"

#include <catch2/catch.hpp>

#include "unit/wire/bytes.hpp"

using namespace softrnic::wire;

TEST_CASE("the standard's local packet and its checksums") {
  // IBTA vol. 1, 7.8.3: a SEND of 32 bytes and its pad without a GRH.
  const auto packet = testing::from_hex(
      "7012375c 000e17d2"
      "0a202487 0087b1b3 000dec2a"
      "01710a1c 015d4002 38f27a05 0000000e bb884d85 fd5cfba4 728bc069 0ed40000"
      "9625b75a 45fa");
  const ByteView all(packet);
  const std::size_t icrc = all.size() - 6;
  const Lrh lrh = Lrh::parse(all.first<Lrh::kSize>());
  CHECK(lrh.virtual_lane == 7);
  CHECK(lrh.service_level == 1);
  CHECK(lrh.next == Lrh::Next::bth);
  CHECK(lrh.destination == 0x375c);
  CHECK(lrh.source == 0x17d2);
  CHECK(lrh.size() == icrc + 4);
  // On the wire the ICRC's lowest byte comes first.
  CHECK(local_icrc(all.first(icrc)) == 0x5ab72596);
  CHECK(vcrc(all.first(icrc + 4)) == load_vcrc(all.data() + icrc + 4));
}

TEST_CASE("what may change on the way changes the variant checksum alone") {
  auto packet = testing::from_hex(
      "7012375c 000e17d2 0a202487 0087b1b3 000dec2a 01710a1c 015d4002 38f27a05 0000000e bb884d85 "
      "fd5cfba4 728bc069 0ed40000");
  const std::uint32_t icrc = local_icrc(packet);
  const std::uint16_t variant = vcrc(packet);
  packet[0] = std::byte{0x20};   // another virtual lane
  packet[12] = std::byte{0xc0};  // FECN, BECN
  CHECK(local_icrc(packet) == icrc);
  CHECK(vcrc(packet) != variant);
  packet[3] ^= std::byte{1};
  CHECK(local_icrc(packet) != icrc);
}

TEST_CASE("checksums of anything too short are taken all the same") {
  const std::vector<std::byte> bytes(20);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    local_icrc(ByteView(bytes).first(size));
    vcrc(ByteView(bytes).first(size));
  }
}
