// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/aeth.hpp"
#include "wire/atomic_ack_eth.hpp"
#include "wire/atomic_eth.hpp"
#include "wire/bth.hpp"
#include "wire/deth.hpp"
#include "wire/feth.hpp"
#include "wire/ieth.hpp"
#include "wire/immdt.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"
#include "wire/reth.hpp"
#include "wire/udp.hpp"
#include "wire/xrceth.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::Random;

bool bit(const Bytes& bytes, std::size_t i) {
  return (load_u8(bytes.data() + i / 8) >> (7 - i % 8) & 1) != 0;
}

// The same as get(), one bit at a time.
std::uint64_t bits(const Bytes& bytes, const Field& field) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < field.bit_width; ++i) {
    value = value << 1 | static_cast<std::uint64_t>(bit(bytes, field.bit_offset + i));
  }
  return value;
}

bool may_be_put(const Field& field) {
  return field.bit_width < 64 || field.bit_offset % 8 == 0;
}

TEST_CASE("a field is read and written like its bits, at every offset and width") {
  const auto seed = Catch::rngSeed();
  INFO("seed " << seed);
  Random random(seed);
  for (std::uint16_t offset = 0; offset < 24; ++offset) {
    for (std::uint8_t width = 1; width <= 64; ++width) {
      const Field field{"any", offset, width};
      if (offset % 8 + width > 64 && !may_be_put(field)) continue;
      INFO("offset " << offset << ", width " << int{width});
      const Bytes before = random.bytes(12);
      if (offset % 8 + width <= 64) REQUIRE(get(before.data(), field) == bits(before, field));

      Bytes after = before;
      const auto value = random.number<std::uint64_t>();
      put(after.data(), field, value);
      const std::uint64_t kept = width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
      REQUIRE(bits(after, field) == kept);
      for (std::size_t i = 0; i < before.size() * 8; ++i) {
        if (i >= offset && i < std::size_t{offset} + width) continue;
        REQUIRE(bit(after, i) == bit(before, i));
      }
    }
  }
}

// A header of 16 bytes or more than its fields has something else behind them.
template <class Header>
void require_gapless(std::size_t size = Header::kSize) {
  std::size_t next = 0;
  for (const Field& field : Header::kFields) {
    INFO(field.name);
    REQUIRE(!field.name.empty());
    REQUIRE(field.bit_offset == next);
    next += field.bit_width;
  }
  REQUIRE(next == size * 8);
}

TEST_CASE("the fields of each header follow each other without gap or overlap to its end") {
  require_gapless<Bth>();
  require_gapless<Reth>();
  require_gapless<AtomicEth>();
  require_gapless<AtomicAckEth>();
  require_gapless<Aeth>();
  require_gapless<Deth>();
  require_gapless<Feth>();
  require_gapless<ImmDt>();
  require_gapless<Ieth>();
  require_gapless<Xrceth>();
  require_gapless<UdpHeader>();
  require_gapless<Ipv4Header>();
  require_gapless<Ipv6Header>(Ipv6Header::kSourceOffset);
}

TEST_CASE("fields fold at compile time") {
  constexpr std::uint32_t psn = [] {
    std::array<std::byte, Bth::kSize> bytes{};
    put(bytes.data(), Bth::kPsn, 0x123456);
    put(bytes.data(), Bth::kReserved7, 0x7f);
    return static_cast<std::uint32_t>(get(bytes.data(), Bth::kPsn));
  }();
  STATIC_REQUIRE(psn == 0x123456);
}

}  // namespace
}  // namespace softrnic::wire
