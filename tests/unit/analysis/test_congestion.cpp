// SPDX-License-Identifier: BSD-3-Clause
// Marked packets, the CNPs that answer them, and what becomes of the rate.
#include <catch2/catch.hpp>

#include "analysis/congestion.hpp"
#include "captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

constexpr std::uint8_t kCapable = 2;
constexpr std::uint8_t kMarked = 3;

// A sender of WRITEs of 256 bytes, one packet each, that are acknowledged at once.
class PacedTalk : public CapturedTalk {
 public:
  Said data(wire::Duration pause, std::uint8_t ecn = kCapable) {
    wait(pause - 2us);
    const Said said = request(Opcode::rc_write_only, psn_, 256, [&](Frame& f) {
      reth(256)(f);
      f.ecn = ecn;
    });
    ack(psn_, ++msn_);
    ++psn_;
    return said;
  }
  // The packets of one pace; says what the last one found.
  Said data(std::size_t count, wire::Duration pause) {
    Said said;
    for (std::size_t i = 0; i < count; ++i) {
      said = data(pause);
      if (i + 1 < count) REQUIRE(said.nothing());
    }
    return said;
  }
  // Bob tells alice.
  Said cnp(std::uint32_t qpn = 0x11) {
    return packet(false, Opcode::cnp, 0, 0, [&](Frame& f) { f.headers.bth.destination_qpn = qpn; });
  }

 private:
  std::uint32_t psn_ = 100;
  std::uint32_t msn_ = 0;
};

TEST_CASE("each marked packet is noted and counted") {
  PacedTalk talk;
  REQUIRE(talk.data(10us).nothing());
  REQUIRE(talk.data(10us, kMarked).only() == Finding{FindingKind::ecn_marked});
  REQUIRE(talk.data(10us, 1).nothing());
  REQUIRE(talk.data(10us, 0).nothing());
  REQUIRE(info(FindingKind::ecn_marked).severity == Severity::note);
  REQUIRE(talk.stream().sides[0].ecn_marked == 1);
  REQUIRE(talk.stream().sides[0].ecn_capable == 3);
}

TEST_CASE("a CNP is related to the newest marked packet of its flow") {
  PacedTalk talk;
  talk.data(10us, kMarked);
  talk.data(10us, kMarked);
  const std::uint32_t marked = talk.frame() - 1;
  talk.data(10us);
  talk.wait(7us);
  const Said said = talk.cnp();
  // From the marked packet: its ACK, 10 us to the next packet, its ACK, 7 us.
  REQUIRE(said.only() == Finding{FindingKind::cnp, marked, 19'000});
  REQUIRE(talk.stream().sides[1].cnps == 1);
  REQUIRE(said.record.stream == 0);
}

TEST_CASE("a CNP without a mark is told so") {
  PacedTalk talk;
  SECTION("where nothing was seen at all") {
    REQUIRE(talk.cnp().only().kind == FindingKind::cnp_without_mark);
  }
  SECTION("in a flow without marks") {
    talk.data(10us);
    REQUIRE(talk.cnp().only().kind == FindingKind::cnp_without_mark);
  }
  SECTION("in a flow without ECN, twice") {
    talk.data(10us, 0);
    REQUIRE(talk.cnp().only().kind == FindingKind::cnp_without_mark);
    REQUIRE(talk.cnp().only().kind == FindingKind::cnp_without_mark);
  }
  SECTION("for another queue pair than the marked one") {
    talk.data(10us, kMarked);
    talk.packet(true, Opcode::rc_send_only, 1, 4, [](Frame& f) {
      f.headers.bth.destination_qpn = 0x52;
      f.udp_source_port = 0xc555;
    });
    talk.packet(false, Opcode::rc_acknowledge, 1, 0, [](Frame& f) {
      f.headers.bth.destination_qpn = 0x51;
      f.udp_source_port = 0xc555;
      f.headers.aeth.msn = 1;
    });
    REQUIRE(talk.cnp(0x51).only().kind == FindingKind::cnp_without_mark);
    REQUIRE(talk.cnp(0x11).only().kind == FindingKind::cnp);
  }
  REQUIRE(info(FindingKind::cnp_without_mark).severity == Severity::note);
}

TEST_CASE("a mark on a packet with a wrong ICRC reaches nobody") {
  PacedTalk talk;
  talk.data(10us);
  const Said said = talk.request(Opcode::rc_write_only, 101, 256, [](Frame& f) {
    f.ecn = kMarked;
    f.icrc = IcrcVerdict::bad;
  });
  REQUIRE(said.only().kind == FindingKind::bad_icrc);
  REQUIRE(talk.cnp().only().kind == FindingKind::cnp_without_mark);
}

TEST_CASE("CNPs find the flow of datagrams and of connections seen one way only") {
  CapturedTalk talk;
  const auto mark = [](Frame& f) { f.ecn = kMarked; };
  const auto cnp_to = [&](std::uint32_t qpn) {
    return talk.packet(false, Opcode::cnp, 0, 0,
                       [&](Frame& f) { f.headers.bth.destination_qpn = qpn; });
  };
  SECTION("UD") {
    talk.packet(true, Opcode::ud_send_only, 5, 64, mark);
    REQUIRE(cnp_to(0x11).only() == Finding{FindingKind::cnp, 1, 1'000});
    REQUIRE(cnp_to(0x77).only().kind == FindingKind::cnp_without_mark);
  }
  SECTION("UC") {
    talk.packet(true, Opcode::uc_write_only, 5, 64, [&](Frame& f) {
      mark(f);
      CapturedTalk::reth(64)(f);
    });
    REQUIRE(cnp_to(0x11).only() == Finding{FindingKind::cnp, 1, 1'000});
  }
}

TEST_CASE("a sender that slows down after a CNP is told with both rates") {
  PacedTalk talk;
  talk.data(20, 10us);  // 256 bytes each 10 us: 25.6 MB/s
  REQUIRE(talk.data(10us, kMarked).has(FindingKind::ecn_marked));
  talk.cnp();
  const std::uint32_t cnp = talk.frame();
  talk.data(Congestion::kWindow - 1, 40us);
  const Finding changed = talk.data(40us).only();
  REQUIRE(changed == Finding{FindingKind::rate_changed, cnp, 25'600'000, 6'400'000});
  REQUIRE(info(FindingKind::rate_changed).severity == Severity::note);
  REQUIRE(talk.data(40, 40us).nothing());  // told once
}

TEST_CASE("what is no change is not told") {
  PacedTalk talk;
  talk.data(20, 10us);
  talk.data(10us, kMarked);
  SECTION("a quarter less") {
    talk.cnp();
    REQUIRE(talk.data(40, 12500ns).nothing());
  }
  SECTION("too few packets before the CNP") {
    PacedTalk other;
    other.data(8, 10us);
    other.data(10us, kMarked);
    other.cnp();
    REQUIRE(other.data(40, 40us).nothing());
  }
  SECTION("too few packets after it") {
    talk.cnp();
    REQUIRE(talk.data(Congestion::kWindow - 1, 40us).nothing());
  }
  SECTION("a pause before the CNP") {
    talk.wait(Congestion::kWindowTime);
    talk.cnp();
    REQUIRE(talk.data(40, 40us).nothing());
  }
  SECTION("a pause after it") {
    talk.cnp();
    talk.data(8, 40us);
    talk.wait(Congestion::kWindowTime);
    REQUIRE(talk.data(40, 40us).nothing());
  }
}

TEST_CASE("a burst of CNPs is one change, from before the first to after the last") {
  PacedTalk talk;
  talk.data(20, 10us);
  talk.data(10us, kMarked);
  talk.cnp();
  const std::uint32_t first = talk.frame();
  talk.data(5, 20us);
  talk.data(20us, kMarked);
  REQUIRE(talk.cnp().only().kind == FindingKind::cnp);
  talk.data(Congestion::kWindow - 1, 80us);
  REQUIRE(talk.data(80us).only() ==
          Finding{FindingKind::rate_changed, first, 25'600'000, 3'200'000});
  SECTION("the next burst is measured anew") {
    talk.data(80us, kMarked);
    talk.cnp();
    const std::uint32_t next = talk.frame();
    talk.data(Congestion::kWindow - 1, 10us);
    const Finding faster = talk.data(10us).only();
    REQUIRE(faster.kind == FindingKind::rate_changed);
    REQUIRE(faster.related == next);
    REQUIRE(faster.a == 3'200'000);
    REQUIRE(faster.b == 25'600'000);
  }
}

TEST_CASE("READ responses are a flow as well: the CNP goes to the responder") {
  CapturedTalk talk;
  talk.read(100, 512);
  talk.answer(Opcode::rc_read_response_first, 100, 256, 1, [](Frame& f) { f.ecn = kMarked; });
  talk.answer(Opcode::rc_read_response_last, 101, 256, 1, [](Frame& f) { f.ecn = kCapable; });
  const Said said = talk.packet(true, Opcode::cnp, 0, 0);
  REQUIRE(said.only() == Finding{FindingKind::cnp, 2, 2'000});
  REQUIRE(talk.stream().sides[0].cnps == 1);
}

TEST_CASE("a flow without ECN costs no memory") {
  Congestion congestion;
  const std::size_t memory = congestion.memory();
  Ledger ledger;
  Stream stream;
  PacketRecord record;
  Frame frame;
  frame.opcode = &wire::info(Opcode::rc_write_only);
  frame.payload_size = 256;
  Observation o{frame, ledger, stream, 0, record};
  std::uint32_t flow = kNone;
  congestion.on_packet(o, flow);
  REQUIRE(flow == kNone);
  REQUIRE(congestion.memory() == memory);
}

}  // namespace
}  // namespace softrnic::analysis::test
