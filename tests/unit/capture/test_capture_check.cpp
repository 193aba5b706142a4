// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_check.hpp"

#include <catch2/catch.hpp>

#include "sample_frame.hpp"

using namespace softrnic;
using namespace capture;
using namespace capture::test;
using analysis::Severity;

namespace {

struct Checked {
  explicit Checked(std::size_t most = 100) : check(most) {}

  void give(const Bytes& bytes, std::size_t captured = 0) {
    check.on_record(LinkType::ethernet, record_of(bytes, ++number, captured));
  }
  void send(std::uint32_t psn) {
    Sample sample;
    sample.psn = psn;
    give(frame(sample));
  }

  CaptureCheck check;
  std::uint32_t number = 0;
};

Bytes with_bad_icrc(std::uint32_t psn) {
  Sample sample;
  sample.psn = psn;
  Bytes bytes = frame(sample);
  bytes[bytes.size() - 6] ^= std::byte{4};
  return bytes;
}

}  // namespace

TEST_CASE("a clean capture has no fault") {
  Checked c;
  for (std::uint32_t psn = 100; psn < 110; ++psn) c.send(psn);
  CHECK(c.check.counts().frames == 10);
  CHECK(c.check.counts().of(Traffic::roce_v2) == 10);
  CHECK(c.check.counts().icrc_good == 10);
  CHECK(c.check.counts().faults == 0);
  CHECK(c.check.analyzer().stream_count() == 1);
  CHECK(c.check.duration() == std::chrono::microseconds(9));
}

TEST_CASE("a finding of the analysis becomes a fault of its frame") {
  Checked c;
  c.send(100);
  c.send(103);
  REQUIRE(c.check.faults().size() == 1);
  const Fault& fault = c.check.faults().front();
  CHECK(fault.frame == 2);
  CHECK(fault.kind == "psn_gap");
  CHECK(fault.severity == Severity::warning);
  CHECK(fault.stream == 0);
  CHECK(fault.qpn == 0x12);
  CHECK(fault.source.to_string() == "10.0.0.1");
  CHECK(fault.sentence == "2 packets are missing before this one: PSN 101 was expected");
  CHECK(c.check.counts().errors == 0);
}

TEST_CASE("a refusal is explained where what succeeded before explains it") {
  Checked c;
  const auto talk = [&](Opcode opcode, std::uint32_t psn, std::uint32_t length, bool nak) {
    Sample sample;
    sample.opcode = opcode;
    sample.psn = psn;
    sample.payload = opcode == Opcode::rc_write_only ? length : 0;
    sample.from_alice = opcode == Opcode::rc_write_only;
    sample.qpn = sample.from_alice ? 0x12 : 0x11;
    sample.headers = [&](wire::TransportHeaders& h) {
      h.reth = {0x1000, 7, length};
      h.aeth.syndrome =
          nak ? wire::Syndrome::nak(wire::NakCode::remote_access_error) : wire::Syndrome::ack();
      h.aeth.msn = 1;
    };
    c.give(frame(sample));
  };
  talk(Opcode::rc_write_only, 100, 64, false);
  talk(Opcode::rc_acknowledge, 100, 0, false);
  talk(Opcode::rc_write_only, 101, 100, false);
  talk(Opcode::rc_acknowledge, 101, 0, true);
  REQUIRE(c.check.faults().size() == 1);
  CHECK(c.check.faults().front().kind == "nak_remote_access");
  CHECK(c.check.faults().front().related == 3);
  CHECK(c.check.faults().front().sentence.find("36 bytes from 0x1040 on lie beyond") !=
        std::string::npos);
}

TEST_CASE("a wrong ICRC is diagnosed") {
  Checked c;
  c.send(100);
  c.give(with_bad_icrc(101));
  REQUIRE(c.check.faults().size() == 1);
  const Fault& fault = c.check.faults().front();
  CHECK(fault.frame == 2);
  CHECK(fault.kind == "bad_icrc");
  CHECK(fault.sentence.find("one bit was flipped") != std::string::npos);
  CHECK(c.check.counts().icrc_bad == 1);
  CHECK(c.check.counts().errors == 1);
}

TEST_CASE("an opcode altered on the way is a wrong ICRC first") {
  Checked c;
  Bytes bytes = frame({});
  bytes[14 + 28] ^= std::byte{0x80};  // RC SEND Only: 0x04
  c.give(bytes);
  REQUIRE(c.check.faults().size() == 1);
  CHECK(c.check.faults().front().kind == "bad_icrc");
  CHECK(c.check.faults().front().sentence.find("Opcode 0x84 is reserved") != std::string::npos);

  Sample sample;
  sample.headers = [](wire::TransportHeaders& h) { h.bth.opcode = static_cast<Opcode>(0x84); };
  sample.payload = 4;
  c.give(frame(sample));
  REQUIRE(c.check.faults().size() == 2);
  CHECK(c.check.faults().back().kind == "reserved_opcode");
}

TEST_CASE("beyond the number asked for faults are only counted") {
  Checked c(2);
  for (std::uint32_t psn = 100; psn < 120; psn += 2) c.send(psn);
  CHECK(c.check.faults().size() == 2);
  CHECK(c.check.faults().front().frame == 2);
  CHECK(c.check.counts().faults == 9);
}

TEST_CASE("a capture cut to its headers finds the same, and no ICRC wrong") {
  Checked c;
  c.give(frame({}), 64);
  c.give(with_bad_icrc(101), 58);
  Sample write;
  write.opcode = Opcode::rc_write_only;
  write.psn = 103;
  write.payload = 500;
  c.give(frame(write), 64);  // in the middle of its RETH
  CHECK(c.check.counts().icrc_unverified == 3);
  CHECK(c.check.counts().icrc_bad == 0);
  CHECK(c.check.counts().headers_cut == 0);
  REQUIRE(c.check.faults().size() == 1);
  CHECK(c.check.faults().front().kind == "psn_gap");
  CHECK(c.check.faults().front().frame == 3);
}

TEST_CASE("what is not RoCE is counted and no fault") {
  Checked c;
  Bytes arp = frame({});
  wire::store_be16(arp.data() + 12, wire::ethertype::kArp);
  c.give(arp);
  c.give(Bytes(5));
  CHECK(c.check.counts().frames == 2);
  CHECK(c.check.counts().roce() == 0);
  CHECK(c.check.counts().of(Traffic::arp) == 1);
  CHECK(c.check.counts().of(Traffic::unknown) == 1);
  CHECK(c.check.counts().faults == 0);
}
