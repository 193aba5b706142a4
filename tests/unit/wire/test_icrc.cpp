// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "frames.hpp"
#include "wire/icrc.hpp"
#include "wire/icrc_fold.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

constexpr std::array kLayers = {NetworkLayer::grh, NetworkLayer::ipv4, NetworkLayer::ipv6};

std::size_t bth_offset_of(NetworkLayer layer) {
  return layer == NetworkLayer::grh ? 40 : layer == NetworkLayer::ipv4 ? 28 : 48;
}

std::uint32_t bitwise_crc(const Bytes& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// The rule, without any of the code under test: which bytes, and which bits of them, are ones.
std::uint32_t by_the_book(NetworkLayer layer, Bytes packet) {
  const auto ones = [&packet](std::size_t byte, unsigned bits = 0xff) {
    packet[byte] |= static_cast<std::byte>(bits);
  };
  const std::size_t bth = bth_offset_of(layer);
  if (layer == NetworkLayer::ipv4) {
    ones(1);
    ones(8);
    ones(10);
    ones(11);
  } else {
    ones(0, 0x0f);
    ones(1);
    ones(2);
    ones(3);
    ones(7);
  }
  if (layer != NetworkLayer::grh) {
    ones(bth - 2);
    ones(bth - 1);
  }
  ones(bth + 4);
  packet.insert(packet.begin(), 8, std::byte{0xff});
  return bitwise_crc(packet);
}

TEST_CASE("the ICRC of frames others made is the one they carry") {
  for (const auto& golden : testing::golden_frames()) {
    INFO(golden.what);
    const Bytes frame = from_hex(golden.hex);
    const std::uint16_t type = load_be16(frame.data() + 12);
    const NetworkLayer layer = type == ethertype::kIpv4   ? NetworkLayer::ipv4
                               : type == ethertype::kIpv6 ? NetworkLayer::ipv6
                                                          : NetworkLayer::grh;
    const std::size_t bth = bth_offset_of(layer);
    const ByteView covered = ByteView(frame).subspan(14, frame.size() - 18);
    const std::uint32_t carried = load_icrc(frame.data() + frame.size() - 4);
    for (std::size_t headers = bth + 12; headers <= covered.size(); headers += 4) {
      INFO("headers of " << headers << " bytes");
      const ByteChain rest(covered.subspan(headers));
      REQUIRE(icrc(layer, covered.first(headers), bth, rest) == carried);
      REQUIRE(icrc_portable(layer, covered.first(headers), bth, rest) == carried);
    }
    REQUIRE(by_the_book(layer, Bytes(covered.begin(), covered.end())) == carried);
  }
}

TEST_CASE("the ICRC follows the rule at every length, alignment and size of headers") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  const Bytes bytes = random.bytes(4400 + 64);
  for (std::size_t payload = 0; payload <= 4200; ++payload) {
    const NetworkLayer layer = kLayers[random.below(3)];
    const std::size_t bth = bth_offset_of(layer);
    const std::size_t headers = bth + 12 + 4 * random.below(9);
    const std::size_t offset = random.below(64);
    INFO("layer " << static_cast<int>(layer) << ", headers " << headers << ", payload " << payload
                  << ", offset " << offset);
    const ByteView packet = ByteView(bytes).subspan(offset, headers + payload);
    const ByteChain chain(packet.subspan(headers));
    const std::uint32_t expected = by_the_book(layer, Bytes(packet.begin(), packet.end()));
    REQUIRE(icrc(layer, packet.first(headers), bth, chain) == expected);
    REQUIRE(icrc_portable(layer, packet.first(headers), bth, chain) == expected);
  }
}

TEST_CASE("the ICRC is the same whether the payload follows the headers or lies elsewhere") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (const NetworkLayer layer : kLayers) {
    const std::size_t bth = bth_offset_of(layer);
    const std::size_t headers = bth + 12;
    const Bytes packet = random.bytes(headers + 200);
    const ByteView view(packet);
    const std::uint32_t expected = by_the_book(layer, packet);
    const Bytes elsewhere(packet.begin() + headers, packet.end());
    REQUIRE(icrc(layer, view.first(headers), bth, ByteChain(ByteView(elsewhere))) == expected);
    for (std::size_t cut = 0; cut <= 200; ++cut) {
      INFO("layer " << static_cast<int>(layer) << ", cut " << cut);
      ByteChain chain;
      REQUIRE(chain.append(view.subspan(headers, cut)));
      REQUIRE(chain.append(ByteView(elsewhere).subspan(cut)));
      REQUIRE(icrc(layer, view.first(headers), bth, chain) == expected);
    }
  }
}

TEST_CASE("what may change in flight does not change the ICRC, and everything else does") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (const NetworkLayer layer : kLayers) {
    const std::size_t bth = bth_offset_of(layer);
    const Bytes packet = random.bytes(bth + 12 + 8);
    const std::uint32_t before = by_the_book(layer, packet);
    for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
      Bytes changed = packet;
      changed[bit / 8] ^= std::byte{0x80} >> (bit % 8);
      const ByteView view(changed);
      const std::uint32_t after =
          icrc(layer, view.first(bth + 12), bth, ByteChain(view.subspan(bth + 12)));
      INFO("layer " << static_cast<int>(layer) << ", bit " << bit);
      REQUIRE(after == by_the_book(layer, changed));
      const bool masked = by_the_book(layer, changed) == before;
      REQUIRE((after == before) == masked);
    }
  }
}

TEST_CASE("the ICRC of an unusual BTH offset is that of a header there") {
  // With IPv4 options the parser refuses the frame, but nothing is read or masked out of place.
  Random random(Catch::rngSeed());
  const Bytes headers = random.bytes(60);
  const ByteView view(headers);
  REQUIRE(icrc(NetworkLayer::ipv4, view, 32, {}) ==
          icrc_portable(NetworkLayer::ipv4, view, 32, {}));
  REQUIRE(icrc(NetworkLayer::ipv4, view, 32, {}) != icrc(NetworkLayer::ipv4, view, 28, {}));
}

TEST_CASE("folding agrees with the rule at every size it takes") {
  if (!kCanFoldIcrc) {
    WARN("skipped: this processor lacks AVX-512BW or VPCLMULQDQ");
    return;
  }
  Random random(Catch::rngSeed());
  IcrcMask none;
  // A buffer that ends where the run does, so that a sanitizer sees a byte too many.
  for (std::size_t size = kMinIcrcFold; size <= kMaxIcrcFold; size += 4) {
    INFO("size " << size);
    Bytes bytes = random.bytes(size);
    const std::uint32_t sum = icrc_fold(bytes, none);
    bytes.insert(bytes.begin(), 8, std::byte{0xff});
    REQUIRE(sum == bitwise_crc(bytes));
  }
}

TEST_CASE("the ICRC lies least significant byte first") {
  std::array<std::byte, 4> bytes{};
  store_icrc(bytes.data(), 0x11223344);
  REQUIRE(Bytes(bytes.begin(), bytes.end()) == from_hex("44332211"));
  REQUIRE(load_icrc(bytes.data()) == 0x11223344);
}

}  // namespace
}  // namespace softrnic::wire
