// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/crc32.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::Random;

ByteView view(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The definition, bit by bit.
std::uint32_t bitwise(std::uint32_t crc, ByteView bytes) {
  crc = ~crc;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

TEST_CASE("CRC-32 has its check value") {
  REQUIRE(crc32(0, view("123456789")) == 0xcbf43926);
  REQUIRE(crc32_portable(0, view("123456789")) == 0xcbf43926);
  REQUIRE(crc32(0, {}) == 0);
  REQUIRE(crc32(0x12345678, {}) == 0x12345678);
  REQUIRE(crc32_portable(0x12345678, {}) == 0x12345678);
}

TEST_CASE("the implementation in use has a name") {
  const bool isal = crc32_backend() == Crc32Backend::isal;
  REQUIRE(to_string(crc32_backend()) == (isal ? "isa-l" : "zlib"));
}

TEST_CASE("both implementations agree with the definition at every length and alignment") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  const Bytes bytes = random.bytes(4200 + 64);
  for (std::size_t size = 0; size <= 4200; ++size) {
    const std::size_t offset = random.below(64);
    INFO("size " << size << ", offset " << offset);
    const ByteView run = ByteView(bytes).subspan(offset, size);
    const auto start = random.number<std::uint32_t>();
    const std::uint32_t expected = bitwise(start, run);
    REQUIRE(crc32(start, run) == expected);
    REQUIRE(crc32_portable(start, run) == expected);
  }
}

TEST_CASE("pieces chain") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  const Bytes bytes = random.bytes(1100);
  const std::uint32_t whole = crc32(0, bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    INFO("cut at " << cut);
    const ByteView first = ByteView(bytes).first(cut);
    const ByteView second = ByteView(bytes).subspan(cut);
    REQUIRE(crc32(crc32(0, first), second) == whole);
    REQUIRE(crc32_portable(crc32_portable(0, first), second) == whole);
  }
}

}  // namespace
}  // namespace softrnic::wire
