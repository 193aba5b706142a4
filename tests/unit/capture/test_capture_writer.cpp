// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_writer.hpp"

#include <string_view>

#include "sample_frame.hpp"
#include "scratch_file.hpp"

using namespace softrnic;
using namespace capture;
using capture::test::Bytes;
using capture::test::ScratchFile;

namespace {

constexpr wire::Instant kMorning{std::chrono::nanoseconds(1704164645123456789)};

Bytes frame(std::size_t size) {
  Bytes bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

CaptureWriter create(const ScratchFile& scratch, Format format,
                     LinkType link_type = LinkType::ethernet, std::uint32_t snap_length = 0) {
  auto writer = CaptureWriter::create(scratch.path(), format, link_type, snap_length);
  REQUIRE(writer);
  return std::move(*writer);
}

CaptureFile open(const ScratchFile& scratch) {
  auto file = CaptureFile::open(scratch.path());
  REQUIRE(file);
  return std::move(*file);
}

bool holds(const Bytes& bytes, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text) !=
         std::string_view::npos;
}

}  // namespace

TEST_CASE("the name says the format") {
  CHECK(format_of("a.pcap") == Format::pcap);
  CHECK(format_of("a.pcapng") == Format::pcapng);
  CHECK(format_of("a") == Format::pcapng);
  CHECK(format_of("-") == Format::pcapng);
}

TEST_CASE("what was written is read again, to the nanosecond") {
  const Format format = GENERATE(Format::pcap, Format::pcapng);
  const LinkType link_type = GENERATE(LinkType::ethernet, LinkType::linux_cooked,
                                      LinkType::linux_cooked_2, LinkType::raw_ip, LinkType::erf);
  const ScratchFile scratch;
  const Bytes whole = frame(61);  // no multiple of four
  const Bytes part = frame(64);
  CaptureWriter writer = create(scratch, format, link_type);
  CHECK(writer.write(kMorning, whole, 61, "a word on it"));
  CHECK(writer.write({.number = 9, .at = kMorning, .wire_size = 1500, .bytes = part}));
  CHECK(writer.commit());
  CHECK(holds(scratch.bytes(), "a word on it") == (format == Format::pcapng));

  CaptureFile file = open(scratch);
  CHECK(file.link_type() == link_type);
  const Record* record = file.next();
  REQUIRE(record != nullptr);
  // In an ERF record libpcap finds a size of its own.
  if (link_type == LinkType::erf) return;
  CHECK(record->at == kMorning);
  CHECK(record->wire_size == 61);
  CHECK(Bytes(record->bytes.begin(), record->bytes.end()) == whole);
  record = file.next();
  REQUIRE(record != nullptr);
  CHECK(record->wire_size == 1500);
  CHECK(Bytes(record->bytes.begin(), record->bytes.end()) == part);
  CHECK(file.next() == nullptr);
  CHECK(file.damage().empty());
}

TEST_CASE("a snap length cuts what is written, and says so") {
  const Format format = GENERATE(Format::pcap, Format::pcapng);
  const ScratchFile scratch;
  CaptureWriter writer = create(scratch, format, LinkType::ethernet, 64);
  CHECK(writer.write(kMorning, frame(100), 0));  // no size: all of it is there
  CHECK(writer.write(kMorning, frame(60), 60));
  CHECK(writer.commit());
  CaptureFile file = open(scratch);
  const Record* record = file.next();
  REQUIRE(record != nullptr);
  CHECK(record->bytes.size() == 64);
  CHECK(record->wire_size == 100);
  record = file.next();
  REQUIRE(record != nullptr);
  CHECK(record->bytes.size() == 60);
  CHECK_FALSE(record->cut());
}

TEST_CASE("a capture without records is one all the same") {
  const Format format = GENERATE(Format::pcap, Format::pcapng);
  const ScratchFile scratch;
  CHECK(create(scratch, format).commit());
  CaptureFile file = open(scratch);
  CHECK(file.next() == nullptr);
  CHECK(file.damage().empty());
}

TEST_CASE("a capture that is not committed leaves the older file") {
  const ScratchFile scratch;
  const Bytes old = frame(10);
  scratch.write(old);
  {
    CaptureWriter writer = create(scratch, Format::pcapng);
    for (int i = 0; i < 1000; ++i) CHECK(writer.write(kMorning, frame(1000), 0));
  }
  CHECK(scratch.bytes() == old);
  CHECK(scratch.files_beside() == 1);
}
