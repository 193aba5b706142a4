// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcapng_reader.hpp"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <limits>
#include <random>

#include "capture/capture_file.hpp"
#include "capture/time_stamp.hpp"
#include "sample_frame.hpp"
#include "scratch_file.hpp"

using namespace softrnic;
using namespace capture;
using capture::test::Bytes;
using capture::test::ScratchFile;
using namespace std::chrono_literals;

namespace {

// A file put together block by block, in one byte order.
class Blocks {
 public:
  explicit Blocks(bool big_endian = false) : big_(big_endian) { section(); }

  Blocks& section() {
    return block(0x0a0d0d0a, Body(big_).u32(0x1a2b3c4d).u16(1).u16(0).u32(~0u).u32(~0u).bytes);
  }

  struct Body {
    explicit Body(bool big_endian) : big(big_endian) {}
    Body& number(std::uint64_t value, unsigned size) {
      for (unsigned i = 0; i < size; ++i) {
        const unsigned shift = 8 * (big ? size - 1 - i : i);
        bytes.push_back(static_cast<std::byte>(value >> shift));
      }
      return *this;
    }
    Body& u16(std::uint16_t value) { return number(value, 2); }
    Body& u32(std::uint32_t value) { return number(value, 4); }
    Body& option(std::uint16_t code, const Bytes& value) {
      u16(code).u16(static_cast<std::uint16_t>(value.size()));
      return padded(value);
    }
    Body& padded(const Bytes& value) {
      bytes.insert(bytes.end(), value.begin(), value.end());
      while (bytes.size() % 4 != 0) bytes.push_back(std::byte{0});
      return *this;
    }
    bool big;
    Bytes bytes;
  };
  Body body() const { return Body(big_); }

  Blocks& block(std::uint32_t type, const Bytes& content) {
    const auto length = static_cast<std::uint32_t>(content.size() + 12);
    Body all(big_);
    all.u32(type).u32(length).padded(content).u32(length);
    bytes.insert(bytes.end(), all.bytes.begin(), all.bytes.end());
    return *this;
  }
  Blocks& interface(std::uint16_t link_type, int resolution = -1, std::int64_t offset = 0) {
    Body content = body().u16(link_type).u16(0).u32(0);
    if (resolution >= 0) content.option(9, {static_cast<std::byte>(resolution)});
    if (offset != 0) {
      content.option(14, body().number(static_cast<std::uint64_t>(offset), 8).bytes);
    }
    return block(1, content.u32(0).bytes);
  }
  Blocks& packet(std::uint32_t interface, std::uint64_t stamp, const Bytes& data,
                 std::uint32_t wire_size, std::string_view comment = {}) {
    Body content = body().u32(interface).u32(static_cast<std::uint32_t>(stamp >> 32));
    content.u32(static_cast<std::uint32_t>(stamp)).u32(static_cast<std::uint32_t>(data.size()));
    content.u32(wire_size).padded(data);
    if (!comment.empty()) {
      const auto text = std::as_bytes(std::span(comment));
      content.option(2, Bytes(4)).option(1, {text.begin(), text.end()}).u32(0);
    }
    return block(6, content.bytes);
  }

  Bytes bytes;

 private:
  bool big_;
};

CaptureFile open(const ScratchFile& scratch, const Bytes& bytes) {
  scratch.write(bytes);
  auto file = CaptureFile::open(scratch.path());
  REQUIRE(file);
  return std::move(*file);
}

std::string damage_of(const Bytes& bytes) {
  const ScratchFile scratch;
  CaptureFile file = open(scratch, bytes);
  while (file.next() != nullptr) {
  }
  CHECK(file.damage().find('\n') == std::string::npos);
  return file.damage();
}

}  // namespace

TEST_CASE("interfaces of different link types and clocks, in either byte order") {
  const bool big_endian = GENERATE(false, true);
  Blocks blocks(big_endian);
  blocks.interface(1, 6).interface(101, 9).interface(999).interface(276, 0x80 | 10, 5);
  blocks.block(0x0bad, Bytes(4000));  // nobody's
  blocks.packet(0, 1'500'000, Bytes(61), 61, "well, well");
  blocks.packet(1, 1'500'000'000, Bytes(20), 100);
  blocks.packet(2, 0, Bytes(3), 3);
  blocks.packet(3, 1536, Bytes(40), 40);
  const ScratchFile scratch;
  CaptureFile file = open(scratch, blocks.bytes);

  const Record* record = file.next();
  REQUIRE(record != nullptr);
  CHECK(file.link_type() == LinkType::ethernet);
  CHECK(record->at == wire::Instant(1500ms));
  CHECK(record->bytes.size() == 61);
  CHECK(record->comment == "well, well");
  record = file.next();
  REQUIRE(record != nullptr);
  CHECK(file.link_type() == LinkType::raw_ip);
  CHECK(record->at == wire::Instant(1500ms));
  CHECK(record->wire_size == 100);
  CHECK(record->comment.empty());
  REQUIRE(file.next() != nullptr);
  CHECK(file.link_type() == LinkType::other);
  record = file.next();
  REQUIRE(record != nullptr);
  CHECK(file.link_type() == LinkType::linux_cooked_2);
  CHECK(record->at == wire::Instant(6500ms));
  CHECK(record->number == 4);
  CHECK(file.next() == nullptr);
  CHECK(file.damage().empty());
  CHECK(file.position() == blocks.bytes.size());
}

TEST_CASE("simple and old packet blocks, and sections one after the other") {
  Blocks blocks;
  blocks.interface(1);
  blocks.block(3, blocks.body().u32(6).padded(Bytes(6)).bytes);
  Blocks second(true);
  second.interface(101);
  second.block(2, second.body().u16(0).u16(7).u32(0).u32(3).u32(5).u32(9).padded(Bytes(5)).bytes);
  Bytes all = blocks.bytes;
  all.insert(all.end(), second.bytes.begin(), second.bytes.end());
  const ScratchFile scratch;
  CaptureFile file = open(scratch, all);
  const Record* record = file.next();
  REQUIRE(record != nullptr);
  CHECK(record->bytes.size() == 6);
  CHECK_FALSE(record->cut());
  record = file.next();
  REQUIRE(record != nullptr);
  CHECK(file.link_type() == LinkType::raw_ip);
  CHECK(record->at == wire::Instant(3us));
  CHECK(record->bytes.size() == 5);
  CHECK(record->wire_size == 9);
  CHECK(file.next() == nullptr);
  CHECK(file.damage().empty());
}

TEST_CASE("a damaged pcapng file says where and how") {
  const auto begun = [] { return Blocks().interface(1).packet(0, 0, Bytes(60), 60); };
  CHECK(damage_of(begun().packet(7, 0, Bytes(4), 4).bytes).find("interface 7") !=
        std::string::npos);
  CHECK(damage_of(begun().block(6, Bytes(16)).bytes).find("truncated packet block") !=
        std::string::npos);
  Blocks longer = begun();
  longer.block(6, longer.body().u32(0).u32(0).u32(0).u32(99).u32(99).bytes);
  CHECK(damage_of(longer.bytes).find("longer than its block") != std::string::npos);
  Blocks differ = begun();
  differ.bytes.back() = std::byte{1};
  CHECK(damage_of(differ.bytes).find("two lengths") != std::string::npos);
  Bytes cut = begun().packet(0, 0, Bytes(60), 60).bytes;
  cut.resize(cut.size() - 10);
  CHECK(damage_of(cut).find("after frame 1: truncated block") != std::string::npos);
}

TEST_CASE("a stamp of no century is told as the end of time that is nearer") {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  Blocks blocks;
  blocks.interface(1, 0).interface(1, 9).interface(1, 0, kFar).interface(1, 9, -kFar - 1);
  for (const std::uint32_t interface : {0u, 1u, 2u, 3u}) {
    for (const std::uint64_t stamp : {std::uint64_t{0}, kAll / 2, kAll / 2 + 1, kAll}) {
      blocks.packet(interface, stamp, Bytes(60), 60);
    }
  }
  const ScratchFile scratch;
  CaptureFile file = open(scratch, blocks.bytes);
  const wire::Instant first = time_stamp(kEarliestSecond, 0);
  const wire::Instant last = time_stamp(kLatestSecond, 0);
  std::uint32_t seen = 0;
  while (const Record* record = file.next()) {
    CHECK((record->at == first || record->at == last));
    ++seen;
  }
  CHECK(seen == 16);
}

TEST_CASE("any byte of a pcapng file may be wrong") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  Blocks blocks(random() % 2 == 0);
  blocks.interface(1, 9)
      .packet(0, 5, Bytes(60), 60, "word")
      .interface(276)
      .packet(1, 6, Bytes(9), 9);
  const ScratchFile scratch;
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = blocks.bytes;
    for (std::uint64_t i = 0; i <= random() % 3; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() & 0xff);
    }
    bytes.resize(bytes.size() - random() % 2 * (random() % bytes.size()));
    scratch.write(bytes);
    auto file = CaptureFile::open(scratch.path());
    if (!file) continue;
    std::size_t frames = 0;
    while (file->next() != nullptr) ++frames;
    REQUIRE(frames <= 2);
  }
}
