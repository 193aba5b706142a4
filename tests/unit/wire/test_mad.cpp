// SPDX-License-Identifier: BSD-3-Clause
// Management datagram header: golden bytes, round trip, table.
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "wire/mad.hpp"

namespace softrnic::wire {
namespace {

using testing::Bytes;
using testing::from_hex;
using testing::Random;

MadHeader parse(const Bytes& bytes) {
  return MadHeader::parse(std::span<const std::byte, MadHeader::kSize>(bytes));
}

Bytes serialize(const MadHeader& header) {
  Bytes bytes(MadHeader::kSize, std::byte{0xa5});
  header.serialize(std::span<std::byte, MadHeader::kSize>(bytes));
  return bytes;
}

TEST_CASE("a management datagram's header has its golden bytes") {
  MadHeader header;
  header.transaction_id = 0x00000002a320a622;
  header.attribute_id = 0x10;
  // As Linux sends it with a CM REQ.
  const Bytes of_linux = from_hex("01070203 00000000 00000002a320a622 0010 0000 00000000");
  REQUIRE(serialize(header) == of_linux);
  REQUIRE(parse(of_linux) == header);

  header = MadHeader{1, 0x81, 3, 0x92, 0x1234, 0x5678, 0x1122334455667788, 0x9abc, 0xdef0, 42};
  const Bytes other = from_hex("01810392 12345678 1122334455667788 9abc def0 0000002a");
  REQUIRE(serialize(header) == other);
  REQUIRE(parse(other) == header);
}

TEST_CASE("each field of a management datagram's header is a value of it") {
  const auto seed = Catch::rngSeed();
  Random random(seed);
  for (const Field& field : MadHeader::kFields) {
    INFO(field.name << ", seed " << seed);
    const Bytes before = random.bytes(MadHeader::kSize);
    Bytes after = before;
    put(after.data(), field, ~get(before.data(), field));
    REQUIRE_FALSE(parse(before) == parse(after));
    REQUIRE(serialize(parse(before)) == before);
    REQUIRE(serialize(parse(after)) == after);
  }
}

}  // namespace
}  // namespace softrnic::wire
