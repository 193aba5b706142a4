// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_file.hpp"

#include <pcap/pcap.h>

#include <catch2/catch.hpp>

#include "sample_frame.hpp"
#include "scratch_file.hpp"

using namespace softrnic;
using namespace capture;
using capture::test::Bytes;
using capture::test::ScratchFile;

namespace {

void append_le32(Bytes& bytes, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::byte>(value >> shift));
  }
}

// Classic pcap, little endian; 0xa1b2c3d4 is that of microseconds.
Bytes header(std::uint32_t link_type, std::uint32_t magic = 0xa1b2c3d4) {
  Bytes bytes;
  for (const std::uint32_t value : {magic, 0x00040002u, 0u, 0u, 65535u, link_type}) {
    append_le32(bytes, value);
  }
  return bytes;
}

void append_frame(Bytes& bytes, std::uint32_t captured, std::uint32_t size) {
  for (const std::uint32_t value : {1000u, 5u, captured, size}) append_le32(bytes, value);
  bytes.resize(bytes.size() + captured, std::byte{0x77});
}

std::string refusal(const std::string& path) {
  auto file = CaptureFile::open(path);
  REQUIRE_FALSE(file);
  CHECK(file.error().find('\n') == std::string::npos);
  return file.error();
}

}  // namespace

TEST_CASE("the records of a file in its order") {
  const ScratchFile scratch;
  Bytes bytes = header(DLT_EN10MB);
  append_frame(bytes, 60, 60);
  append_frame(bytes, 64, 1500);
  scratch.write(bytes);
  auto file = CaptureFile::open(scratch.path());
  REQUIRE(file);
  CHECK(file->link_type() == LinkType::ethernet);
  CHECK(file->size() == bytes.size());
  const Record* record = file->next();
  REQUIRE(record != nullptr);
  CHECK(record->number == 1);
  CHECK(record->at == wire::Instant(std::chrono::seconds(1000) + std::chrono::microseconds(5)));
  CHECK(record->bytes.size() == 60);
  CHECK_FALSE(record->cut());
  record = file->next();
  REQUIRE(record != nullptr);
  CHECK(record->number == 2);
  CHECK(record->wire_size == 1500);
  CHECK(record->cut());
  CHECK(file->next() == nullptr);
  CHECK(file->damage().empty());
  CHECK(file->position() == bytes.size());
}

TEST_CASE("stamps of nanoseconds") {
  const ScratchFile scratch;
  Bytes bytes = header(DLT_EN10MB, 0xa1b23c4d);
  append_frame(bytes, 60, 60);
  scratch.write(bytes);
  auto file = CaptureFile::open(scratch.path());
  REQUIRE(file);
  const Record* record = file->next();
  REQUIRE(record != nullptr);
  CHECK(record->at == wire::Instant(std::chrono::seconds(1000) + std::chrono::nanoseconds(5)));
}

TEST_CASE("every link type by its number in the file") {
  const std::pair<std::uint32_t, LinkType> types[] = {
      {1, LinkType::ethernet}, {113, LinkType::linux_cooked}, {276, LinkType::linux_cooked_2},
      {101, LinkType::raw_ip}, {228, LinkType::raw_ip},       {229, LinkType::raw_ip},
      {197, LinkType::erf}};
  const ScratchFile scratch;
  for (const auto& [number, type] : types) {
    scratch.write(header(number));
    auto file = CaptureFile::open(scratch.path());
    REQUIRE(file);
    CHECK(file->link_type() == type);
    CHECK(file->next() == nullptr);
    CHECK(file->damage().empty());
  }
  scratch.write(header(105));  // 802.11
  CHECK(refusal(scratch.path()).find("IEEE802_11") != std::string::npos);
}

TEST_CASE("what is no capture is refused in one sentence") {
  const ScratchFile scratch;
  CHECK(refusal(scratch.path()).find("is empty") != std::string::npos);
  CHECK(refusal("/tmp").find("directory") != std::string::npos);
  CHECK(refusal(scratch.path() + "-not-there").find("cannot open") != std::string::npos);
  scratch.write(Bytes(100, std::byte{'x'}));
  CHECK(refusal(scratch.path()).find("pcapng") != std::string::npos);
  Bytes short_header = header(DLT_EN10MB);
  short_header.resize(10);
  scratch.write(short_header);
  CHECK(refusal(scratch.path()).find("cannot read") != std::string::npos);
}

TEST_CASE("a damaged file gives what comes before the damage") {
  const ScratchFile scratch;
  Bytes good = header(DLT_EN10MB);
  append_frame(good, 60, 60);

  Bytes cut = good;
  append_frame(cut, 60, 60);
  cut.resize(cut.size() - 1);
  Bytes too_large = good;
  append_frame(too_large, 60, 0x7fffffff);
  Bytes more_than_there_was = good;
  append_frame(more_than_there_was, 60, 59);
  for (const Bytes& bytes : {cut, too_large, more_than_there_was}) {
    scratch.write(bytes);
    auto file = CaptureFile::open(scratch.path());
    REQUIRE(file);
    REQUIRE(file->next() != nullptr);
    CHECK(file->next() == nullptr);
    CHECK(file->damage().find(scratch.path()) != std::string::npos);
    CHECK(file->next() == nullptr);  // and stays at its end
  }
}

TEST_CASE(
    "pcap of either byte order, of nanoseconds, and of the kind that Kuznetsov's patch wrote") {
  const auto swapped = [](std::uint32_t value) { return __builtin_bswap32(value); };
  const auto as_is = [](std::uint32_t value) { return value; };
  for (const std::uint32_t magic : {0xa1b2c3d4u, 0xa1b23c4du, 0xa1b2cd34u}) {
    for (const bool big_endian : {false, true}) {
      INFO(std::hex << magic << (big_endian ? ", big endian" : ""));
      const auto order = [&](std::uint32_t v) { return big_endian ? swapped(v) : as_is(v); };
      Bytes bytes;
      for (const std::uint32_t value :
           {magic, big_endian ? 0x00020004u : 0x00040002u, 0u, 0u, 65535u, 1u}) {
        append_le32(bytes, order(value));
      }
      for (const std::uint32_t value : {1000u, 5u, 60u, 1500u}) append_le32(bytes, order(value));
      if (magic == 0xa1b2cd34u) bytes.resize(bytes.size() + 8);  // interface, protocol, type
      bytes.resize(bytes.size() + 60, std::byte{0x77});
      const ScratchFile scratch;
      scratch.write(bytes);
      auto file = CaptureFile::open(scratch.path());
      REQUIRE(file);
      const Record* record = file->next();
      REQUIRE(record != nullptr);
      const auto fraction = std::chrono::nanoseconds(magic == 0xa1b23c4du ? 5 : 5000);
      CHECK(record->at == wire::Instant(std::chrono::seconds(1000) + fraction));
      CHECK(record->wire_size == 1500);
      CHECK(record->bytes.size() == 60);
      CHECK(record->bytes.front() == std::byte{0x77});
      CHECK(file->next() == nullptr);
      CHECK(file->damage().empty());
    }
  }
}

TEST_CASE("what other formats are is said, and what to do about it") {
  const auto refusal_of = [](std::string_view beginning) {
    const ScratchFile scratch;
    Bytes bytes(100);
    const auto text = std::as_bytes(std::span(beginning));
    std::copy(text.begin(), text.end(), bytes.begin());
    scratch.write(bytes);
    const std::string words = refusal(scratch.path());
    REQUIRE(words.starts_with(scratch.path() + " "));
    return words.substr(scratch.path().size() + 1);
  };
  using namespace std::string_view_literals;
  CHECK(refusal_of("snoop\0\0\0"sv) == "is a snoop file: convert it (editcap -F pcapng FILE OUT)");
  CHECK(refusal_of("\x1f\x8b\x08"sv) ==
        "is compressed: pipe it through zcat and give - for the file");
  CHECK(refusal("/dev/zero").find("give a pcap or pcapng file") != std::string::npos);
  CHECK(refusal("/dev/null") == "/dev/null is empty: not even a capture file's header is in it");
}
