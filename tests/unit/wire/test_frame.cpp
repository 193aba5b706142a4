// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "frames.hpp"
#include "wire/frame.hpp"

namespace softrnic::wire {
namespace {

using testing::address_vector;
using testing::Bytes;
using testing::frame_of;
using testing::from_hex;
using testing::Random;
using testing::random_headers;

// The frame rebuilt in a buffer that is one byte too large, which must stay as it is.
Bytes rebuild(const PacketView& view) {
  Bytes out(view.size() + 1, std::byte{0xa5});
  REQUIRE(serialize(view, out) == view.size());
  REQUIRE(out.back() == std::byte{0xa5});
  out.pop_back();
  return out;
}

TEST_CASE("frames others made come back byte for byte") {
  for (const auto& golden : testing::golden_frames()) {
    INFO(golden.what);
    const Bytes frame = from_hex(golden.hex);
    REQUIRE(rebuild(*PacketView::parse(ByteChain(ByteView(frame)))) == frame);
  }
}

TEST_CASE("every opcode's frame comes back byte for byte, pad bytes and trailer as they are") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    for (const NetworkLayer layer : {NetworkLayer::grh, NetworkLayer::ipv4, NetworkLayer::ipv6}) {
      for (std::size_t pad = 0; pad < 4; ++pad) {
        INFO(row->name << ", layer " << static_cast<int>(layer) << ", pad " << pad);
        const TransportHeaders headers = random_headers(random, row->opcode, pad);
        const Bytes payload = random.bytes(4 * (1 + random.below(20)) - pad);
        const AddressVector av = address_vector(layer, random.below(2) == 1);
        const Bytes frame = frame_of(av, headers, payload, random.bytes(pad));
        Bytes trailed = frame;
        trailed.resize(frame.size() + random.below(30));

        const auto view = PacketView::parse(ByteChain(ByteView(trailed)));
        REQUIRE(view);
        REQUIRE(rebuild(*view) == frame);
      }
    }
  }
}

TEST_CASE("a wrong ICRC is made right, and nothing else is touched") {
  const Bytes right = from_hex(testing::golden_frames()[0].hex);
  Bytes wrong = right;
  wrong.back() ^= std::byte{1};
  const auto view = PacketView::parse(ByteChain(ByteView(wrong)));
  REQUIRE(view);
  REQUIRE_FALSE(view->icrc_ok());
  REQUIRE(rebuild(*view) == right);
}

TEST_CASE("IPv4 and UDP checksums stay as they were carried") {
  Bytes frame = from_hex(testing::golden_frames()[0].hex);
  store_be16(frame.data() + 14 + 10, 0x1234);
  store_be16(frame.data() + 34 + 6, 0x5678);
  const auto view = PacketView::parse(ByteChain(ByteView(frame)), {.verify_ipv4_checksum = false});
  REQUIRE(view);
  REQUIRE(rebuild(*view) == frame);
}

TEST_CASE("a frame in pieces comes back in one") {
  const Bytes frame = from_hex(testing::golden_frames()[3].hex);
  const ByteView bytes(frame);
  for (std::size_t cut = 82; cut < frame.size(); ++cut) {
    INFO("cut at " << cut);
    ByteChain chain(bytes.first(cut));
    REQUIRE(chain.append(bytes.subspan(cut)));
    REQUIRE(rebuild(*PacketView::parse(chain)) == frame);
  }
}

TEST_CASE("a buffer that is too small stays as it is") {
  const Bytes frame = from_hex(testing::golden_frames()[0].hex);
  const auto view = PacketView::parse(ByteChain(ByteView(frame)));
  Bytes out(view->size() - 1, std::byte{0xa5});
  REQUIRE(serialize(*view, out) == 0);
  REQUIRE(out == Bytes(view->size() - 1, std::byte{0xa5}));
  REQUIRE(serialize(*view, {}) == 0);
}

}  // namespace
}  // namespace softrnic::wire
