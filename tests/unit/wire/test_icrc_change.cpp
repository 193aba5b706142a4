// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "frames.hpp"
#include "wire/icrc.hpp"
#include "wire/icrc_change.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::Random;

constexpr std::size_t kIdentification = 4;  // in an IPv4 header
constexpr std::size_t kBth = 28;

std::uint32_t icrc_of(const Bytes& packet) {
  const ByteView bytes(packet);
  return icrc(NetworkLayer::ipv4, bytes.first(40), kBth, bytes.subspan(40));
}

TEST_CASE("an ICRC changes with two bytes as computed anew, whatever the length") {
  Random random(0x1c7c);
  for (const std::size_t size : {40, 44, 48, 300, 1068, 2092, 4152, 9000, 65507}) {
    INFO(size);
    Bytes packet = random.bytes(size);
    const std::uint32_t before = icrc_of(packet);
    for (const std::size_t at : {kIdentification, std::size_t{6}, std::size_t{20}}) {
      const auto difference = random.number<std::uint16_t>();
      Bytes changed = packet;
      store_be16(changed.data() + at,
                 static_cast<std::uint16_t>(load_be16(packet.data() + at) ^ difference));
      CHECK(icrc_of(changed) == (before ^ icrc_change(difference, size - at - 2)));
    }
  }
}

TEST_CASE("the two bytes are found from the change, each of them, and no others") {
  Random random(0xface);
  for (const std::size_t behind : {38, 54, 1078, 4146}) {
    bool all = true;
    for (std::uint32_t difference = 0; difference <= 0xffff; ++difference) {
      const auto bits = static_cast<std::uint16_t>(difference);
      all = all && difference_behind(icrc_change(bits, behind), behind) == bits;
    }
    CHECK(all);
  }
  // Of other changes one in 65536 looks like one.
  int found = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    found += difference_behind(random.number<std::uint32_t>(), 1078) ? 1 : 0;
  }
  CHECK(found < 60);
}

}  // namespace
}  // namespace softrnic::wire
