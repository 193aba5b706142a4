// SPDX-License-Identifier: BSD-3-Clause
#include "transport/early_requests.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

using softrnic::transport::EarlyRequests;
using softrnic::transport::InboundPacket;
using softrnic::transport::WriteExtent;
using softrnic::wire::ByteChain;
using softrnic::wire::ByteView;
using softrnic::wire::Opcode;
using softrnic::wire::Psn;

namespace wire = softrnic::wire;

namespace {

constexpr std::uint32_t kPathMtu = 256;

struct Kept {
  Kept() {
    early.enable(kPathMtu);
    REQUIRE(early.has_room());
  }
  InboundPacket packet(Psn psn, Opcode opcode, std::uint32_t size) {
    headers = {};
    headers.bth.opcode = opcode;
    headers.bth.psn = psn;
    bytes.assign(size, static_cast<std::byte>(psn.value()));
    return {headers, wire::info(opcode), ByteChain(ByteView(bytes)), {}};
  }
  void keep(std::uint32_t psn, Opcode opcode = Opcode::rc_send_only, std::uint32_t size = 8) {
    REQUIRE(early.keep(packet(Psn(psn), opcode, size)));
  }
  void place(std::uint32_t psn, const WriteExtent& extent, std::uint64_t location,
             std::uint32_t size) {
    early.keep_placed(packet(Psn(psn), Opcode::rc_write_middle, size), extent, location);
  }
  EarlyRequests early;
  wire::TransportHeaders headers;
  std::vector<std::byte> bytes;
};

}  // namespace

TEST_CASE("a kept packet is given back as it came") {
  Kept kept;
  kept.keep(7, Opcode::rc_send_last, 100);
  kept.keep(9, Opcode::rc_send_only, 0);
  const InboundPacket packet = kept.early.packet(Psn(7));
  CHECK(packet.opcode.opcode == Opcode::rc_send_last);
  CHECK(packet.headers.bth.psn == Psn(7));
  std::array<std::byte, 100> payload{};
  CHECK(packet.payload.copy_to(0, payload) == 100);
  CHECK(payload[99] == std::byte{7});
  CHECK(kept.early.packet(Psn(9)).payload.empty());
  CHECK_FALSE(kept.early.holds(Psn(8)));
  CHECK_FALSE(kept.early.holds(Psn(7 + EarlyRequests::kWindow)));
}

TEST_CASE("runs end at gaps and at the most that is asked for") {
  Kept kept;
  for (const std::uint32_t psn : {0xfffffeu, 0xffffffu, 0u, 1u, 3u}) kept.keep(psn);
  CHECK(kept.early.run_up_to(Psn(1), 32) == 4);
  CHECK(kept.early.run_up_to(Psn(1), 3) == 3);
  CHECK(kept.early.run_up_to(Psn(3), 32) == 1);
}

TEST_CASE("dropping what has had its turn empties it") {
  Kept kept;
  for (const std::uint32_t psn : {5u, 6u, 200u}) kept.keep(psn);
  kept.early.drop(Psn(5));
  kept.early.drop(Psn(5));
  CHECK_FALSE(kept.early.empty());
  kept.early.drop_range(Psn(4), Psn(201));
  CHECK(kept.early.empty());
}

TEST_CASE("a packet is of the WRITE that reaches as far as it, and of none when in doubt") {
  Kept kept;
  const WriteExtent now{Psn(10), 3, 0x1000, 3 * kPathMtu, 1};  // 10 to 12
  CHECK(kept.early.extent_of(Psn(12), Psn(10), now)->address == 0x1000);
  CHECK_FALSE(kept.early.extent_of(Psn(13), Psn(10), now));
  CHECK_FALSE(kept.early.extent_of(Psn(12), Psn(10), std::nullopt));

  const WriteExtent next{Psn(14), 4, 0x5000, 4 * kPathMtu, 1};  // 14 to 17; 13 is lost
  kept.place(14, next, 0x5000, kPathMtu);
  CHECK(kept.early.extent_of(Psn(17), Psn(10), now)->address == 0x5000);
  CHECK_FALSE(kept.early.extent_of(Psn(18), Psn(10), now));
  // A SEND in between ends it.
  kept.keep(16);
  CHECK_FALSE(kept.early.extent_of(Psn(17), Psn(10), now));
}

TEST_CASE("the first run of bytes that later packets have placed is found") {
  Kept kept;
  const WriteExtent extent{Psn(20), 8, 0, 8 * kPathMtu, 1};
  kept.place(22, extent, 1000, 50);
  kept.place(21, extent, 1100, 50);
  kept.keep(23);
  CHECK_FALSE(kept.early.placed_behind(Psn(20), 900, 100));
  CHECK(kept.early.placed_behind(Psn(20), 900, 101)->begin == 1000);
  CHECK(kept.early.placed_behind(Psn(20), 1049, 100)->end == 1050);
  CHECK(kept.early.placed_behind(Psn(20), 1050, 100)->begin == 1100);
  // Not by what comes before it.
  CHECK(kept.early.placed_behind(Psn(21), 900, 1000)->begin == 1000);
  CHECK_FALSE(kept.early.placed_behind(Psn(21), 1100, 50));
}
