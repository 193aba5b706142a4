// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "frames.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

Bytes serialize(const TransportHeaders& headers) {
  Bytes bytes(kMaxTransportHeaders + 16, std::byte{0xa5});
  bytes.resize(headers.serialize(bytes));
  return bytes;
}

TEST_CASE("extension headers stand in the standard's order") {
  TransportHeaders h;
  h.bth.destination_qpn = 0x11;
  h.xrceth.shared_receive_queue = 0x222222;
  h.deth = {0x33333333, 0, 0x444444};
  h.feth.placement_type = 5;
  h.reth = {0x66, 0x77777777, 0x88};
  h.atomic_eth = {0x99, 0xaa, 0xbb, 0xcc};
  h.aeth = {Syndrome::ack(), 0xdd};
  h.atomic_ack_eth = {0xee};
  h.immdt = {0xffffffff};
  h.ieth = {0x12345678};
  const auto of = [&h](Opcode opcode) {
    h.bth.opcode = opcode;
    return serialize(h);
  };
  REQUIRE(of(Opcode::rc_send_first) == from_hex("00 00 ffff 00 000011 00 000000"));
  REQUIRE(of(Opcode::xrc_write_only_immediate) ==
          from_hex("ab 00 ffff 00 000011 00 000000 00 222222"
                   "0000000000000066 77777777 00000088 ffffffff"));
  REQUIRE(of(Opcode::ud_send_only_immediate) ==
          from_hex("65 00 ffff 00 000011 00 000000 33333333 00 444444 ffffffff"));
  REQUIRE(of(Opcode::rc_flush) == from_hex("1c 00 ffff 00 000011 00 000000 00000005"
                                           "0000000000000066 77777777 00000088"));
  REQUIRE(of(Opcode::rc_atomic_acknowledge) ==
          from_hex("12 00 ffff 00 000011 00 000000 1f 0000dd 00000000000000ee"));
  REQUIRE(of(Opcode::xrc_compare_swap) ==
          from_hex("b3 00 ffff 00 000011 00 000000 00 222222"
                   "0000000000000099 000000aa 00000000000000bb 00000000000000cc"));
  REQUIRE(of(Opcode::rc_send_only_invalidate) ==
          from_hex("17 00 ffff 00 000011 00 000000 12345678"));
  REQUIRE(of(Opcode::cnp).size() == 12 + 16);
}

TEST_CASE("the headers of every opcode come back from their bytes, whatever these are") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    INFO("opcode " << value);
    for (int i = 0; i < 50; ++i) {
      Bytes bytes = random.bytes(kMaxTransportHeaders);
      store_u8(bytes.data(), static_cast<std::uint8_t>(value));
      const TransportHeaders headers = TransportHeaders::parse(bytes);
      REQUIRE(headers.size() == Bth::kSize + (row == nullptr ? 0 : row->extension_size));
      bytes.resize(headers.size());
      REQUIRE(serialize(headers) == bytes);
      REQUIRE(TransportHeaders::parse(bytes) == headers);  // of no byte more than it needs
    }
  }
}

TEST_CASE("headers the opcode does not call for keep their defaults") {
  const Bytes ones(kMaxTransportHeaders, std::byte{0x11});  // an acknowledge of all 0x11
  const TransportHeaders headers = TransportHeaders::parse(ones);
  REQUIRE(headers.bth.opcode == Opcode::rc_acknowledge);
  REQUIRE(headers.aeth.msn == 0x111111);
  REQUIRE(headers.reth == Reth{});
  REQUIRE(headers.deth == Deth{});
  REQUIRE(headers.atomic_eth == AtomicEth{});
  REQUIRE(headers.immdt == ImmDt{});
}

}  // namespace
}  // namespace softrnic::wire
