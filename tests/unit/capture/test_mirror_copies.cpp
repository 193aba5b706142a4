// SPDX-License-Identifier: BSD-3-Clause
#include "capture/mirror_copies.hpp"

#include <catch2/catch.hpp>

#include "capture/capture_check.hpp"
#include "sample_frame.hpp"

using namespace softrnic;
using namespace capture;
using namespace capture::test;
using namespace std::chrono_literals;

namespace {

// As it leaves the switch: other MAC addresses, one hop less to go, marked.
Bytes forwarded(Bytes bytes) {
  bytes[5] = std::byte{0x77};
  const std::size_t ip = 14;
  bytes[ip + 1] |= std::byte{3};
  bytes[ip + 8] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[ip + 8]) - 1);
  bytes[ip + 10] = bytes[ip + 11] = std::byte{0};
  const std::uint16_t checksum =
      wire::Ipv4Header::parse(std::span<const std::byte, 20>(bytes.data() + ip, 20))
          .computed_checksum();
  wire::store_be16(bytes.data() + ip + 10, checksum);
  return bytes;
}

struct Mirror {
  bool see(const Bytes& bytes, wire::Duration later = 2us, std::size_t captured = 0) {
    now += later;
    Record record = record_of(bytes, 1, captured);
    record.at = now;
    const PacketReading reading = read_packet(LinkType::ethernet, record);
    REQUIRE(reading.bth != 0);
    return copies.is_copy(record, reading);
  }

  MirrorCopies copies;
  wire::Instant now{1s};
};

Bytes send(std::uint32_t psn) {
  Sample sample;
  sample.psn = psn;
  return frame(sample);
}

Bytes nak(std::uint32_t psn) {
  Sample sample;
  sample.opcode = Opcode::rc_acknowledge;
  sample.psn = psn;
  sample.payload = 0;
  sample.from_alice = false;
  sample.headers = [](wire::TransportHeaders& headers) {
    headers.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::psn_sequence_error);
  };
  return frame(sample);
}

}  // namespace

TEST_CASE("a frame seen where it comes in and where it goes out is one") {
  for (const auto layer : {NetworkLayer::ipv4, NetworkLayer::ipv6, NetworkLayer::grh}) {
    Mirror mirror;
    Sample sample;
    sample.layer = layer;
    Bytes bytes = frame(sample);
    CHECK_FALSE(mirror.see(bytes));
    bytes[0] = std::byte{0x77};
    bytes[14 + (layer == NetworkLayer::ipv4 ? 8 : 7)] ^= std::byte{1};
    CHECK(mirror.see(bytes));
    sample.psn = 101;
    CHECK_FALSE(mirror.see(frame(sample)));
  }
}

TEST_CASE("a copy is one although it was marked, or only part of it is there") {
  Mirror mirror;
  CHECK_FALSE(mirror.see(send(100)));
  CHECK(mirror.see(forwarded(send(100)), 2us, 64));
}

TEST_CASE("a packet that comes once more where it came before was sent again") {
  Mirror mirror;
  CHECK_FALSE(mirror.see(send(100)));
  CHECK(mirror.see(forwarded(send(100))));
  CHECK_FALSE(mirror.see(send(100)));
  CHECK(mirror.see(forwarded(send(100))));
}

TEST_CASE("where nothing tells the places apart the second is a copy, the third is not") {
  Mirror mirror;
  CHECK_FALSE(mirror.see(send(100)));
  CHECK(mirror.see(send(100)));
  CHECK_FALSE(mirror.see(send(100)));
  CHECK(mirror.see(send(100)));
}

TEST_CASE("what a NAK asked for is no copy") {
  Mirror mirror;
  CHECK_FALSE(mirror.see(send(100)));
  CHECK_FALSE(mirror.see(nak(100)));
  CHECK_FALSE(mirror.see(send(100)));
  CHECK(mirror.see(send(100)));
}

TEST_CASE("what comes again after a timeout is no copy") {
  Mirror mirror;
  CHECK_FALSE(mirror.see(send(100)));
  CHECK_FALSE(mirror.see(send(100), MirrorCopies::kWindow + 1us));
}

TEST_CASE("a mirrored capture without faults has none, and says what a mirror did") {
  for (const bool mirrored : {true, false}) {
    CaptureCheck check(100, mirrored);
    std::uint32_t number = 0;
    const auto give = [&](const Bytes& bytes, std::size_t captured = 0) {
      check.on_record(LinkType::ethernet, record_of(bytes, ++number, captured));
    };
    for (std::uint32_t psn = 100; psn < 120; ++psn) {
      give(send(psn));
      if (psn == 110) continue;  // the second place lost it
      give(forwarded(send(psn)));
    }
    give(send(121));  // the mirror's port was too slow for the one before
    give(send(123));
    give(send(122));
    CHECK((check.counts().faults == 0) == mirrored);
    CHECK(check.signs_of_mirror().empty() == mirrored);
    CHECK(check.counts().copies == (mirrored ? 19 : 0));
    CHECK(check.counts().gaps == (mirrored ? 2 : 0));
    CHECK(check.counts().late == (mirrored ? 1 : 0));
    CHECK(check.one_way_streams() == 1);
  }
}

TEST_CASE("a mirror does not hide what happened") {
  CaptureCheck check(100, true);
  std::uint32_t number = 0;
  const auto give = [&](const Bytes& bytes) {
    check.on_record(LinkType::ethernet, record_of(bytes, ++number));
    check.on_record(LinkType::ethernet, record_of(forwarded(bytes), ++number));
  };
  give(send(100));
  give(send(102));
  give(nak(101));
  give(send(101));
  Bytes spoilt = send(103);
  check.on_record(LinkType::ethernet, record_of(spoilt, ++number));
  spoilt[spoilt.size() - 6] ^= std::byte{4};  // inside the switch
  check.on_record(LinkType::ethernet, record_of(forwarded(spoilt), ++number));
  REQUIRE(check.faults().size() == 2);
  CHECK(check.faults()[0].kind == "nak_psn_sequence");
  CHECK(check.faults()[0].frame == 5);
  CHECK(check.faults()[1].kind == "bad_icrc");
  CHECK(check.faults()[1].frame == 10);
}

TEST_CASE("a frame that a switch cut is no fault when it is known for one") {
  Sample sample;
  sample.payload = 1000;
  Bytes bytes = frame(sample);
  bytes.resize(128);
  CHECK(read_packet(LinkType::ethernet, record_of(bytes)).fault == HeaderFault::beyond_frame);
  const PacketReading reading = read_packet(LinkType::ethernet, record_of(bytes), true);
  CHECK(reading.fault == HeaderFault::none);
  CHECK(reading.frame.icrc == analysis::IcrcVerdict::unverified);
  CHECK(reading.analysable());
}
