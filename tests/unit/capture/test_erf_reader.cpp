// SPDX-License-Identifier: BSD-3-Clause
#include "capture/erf_reader.hpp"

#include <catch2/catch.hpp>

#include "capture/capture_file.hpp"
#include "capture/packet_reading.hpp"
#include "sample_frame.hpp"
#include "scratch_file.hpp"

using namespace softrnic;
using namespace capture;
using namespace capture::test;

namespace {

// A record of Ethernet: 1000.5 s, then a second more for each.
void append_record(Bytes& bytes, std::uint8_t second, const Bytes& frame, std::size_t captured) {
  const std::size_t at = bytes.size();
  bytes.resize(at + 16 + 2);
  bytes[at] = bytes[at + 1] = bytes[at + 2] = std::byte{0};
  bytes[at + 3] = std::byte{0x80};  // half a second
  bytes[at + 4] = static_cast<std::byte>(0xe8 + second);
  bytes[at + 5] = std::byte{3};
  bytes[at + 8] = std::byte{2};
  wire::store_be16(bytes.data() + at + 10, static_cast<std::uint16_t>(18 + captured));
  wire::store_be16(bytes.data() + at + 14, static_cast<std::uint16_t>(frame.size()));
  bytes.insert(bytes.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(captured));
}

}  // namespace

TEST_CASE("a file of bare ERF records is read") {
  Sample sample;
  sample.payload = 200;
  const Bytes whole = frame(sample);
  Bytes bytes;
  append_record(bytes, 0, whole, whole.size());
  append_record(bytes, 1, whole, 64);
  const std::size_t good = bytes.size();
  append_record(bytes, 2, whole, whole.size());
  const ScratchFile scratch;
  bytes.resize(bytes.size() - 5);
  scratch.write(bytes);
  auto file = CaptureFile::open(scratch.path());
  REQUIRE(file);
  CHECK(file->link_type() == LinkType::erf);
  const Record* record = file->next();
  REQUIRE(record != nullptr);
  CHECK(record->at == wire::Instant(std::chrono::milliseconds(1'000'500)));
  CHECK_FALSE(record->cut());
  CHECK(read_packet(file->link_type(), *record).frame.icrc == analysis::IcrcVerdict::good);
  record = file->next();
  REQUIRE(record != nullptr);
  CHECK(record->cut());
  CHECK(record->wire_size == 18 + whole.size());
  CHECK(read_packet(file->link_type(), *record).analysable());
  CHECK(file->next() == nullptr);
  CHECK(file->damage().find("after frame 2: truncated record") != std::string::npos);
  CHECK(file->position() == good);
}

TEST_CASE("what no ERF record can be is none") {
  CHECK_FALSE(ErfReader::is_erf({}));
  CHECK_FALSE(ErfReader::is_erf(Bytes(64)));
  Bytes bytes;
  append_record(bytes, 0, Bytes(60), 60);
  CHECK(ErfReader::is_erf(bytes));
  bytes.resize(bytes.size() + 20, std::byte{0x77});
  CHECK_FALSE(ErfReader::is_erf(bytes));
}
