// SPDX-License-Identifier: BSD-3-Clause
// Which stream a packet belongs to, and which two directions are one connection.
#include "unit/analysis/captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using enum FindingKind;

CapturedTalk::Change to(std::uint32_t qpn, std::uint16_t port = 0) {
  return [=](Frame& f) {
    f.headers.bth.destination_qpn = qpn;
    if (port != 0) f.udp_source_port = port;
  };
}

Said ask(CapturedTalk& talk, std::uint32_t qpn, std::uint32_t psn, std::uint16_t port = 0) {
  return talk.packet(true, Opcode::rc_send_only, psn, 64, to(qpn, port));
}

Said reply(CapturedTalk& talk, std::uint32_t qpn, std::uint32_t psn, std::uint32_t msn,
           std::uint16_t port = 0) {
  return talk.packet(false, Opcode::rc_acknowledge, psn, 0, [=](Frame& f) {
    to(qpn, port)(f);
    f.headers.aeth.msn = msn;
  });
}

TEST_CASE("an answer pairs the two directions", "[streams]") {
  CapturedTalk talk;
  const Said sent = talk.send(1);
  CHECK(sent.record.stream == 0);
  CHECK(sent.record.sender == 0);
  CHECK(talk.stream().paired_by == PairedBy::nothing);
  CHECK(talk.stream().sides[0].qpn == kUnknownQpn);
  CHECK(talk.stream().sides[1].qpn == 0x12);
  const Said ack = talk.ack(1, 1);
  CHECK(ack.record.stream == 0);
  CHECK(ack.record.sender == 1);
  CHECK(ack.record.previous_frame == 1);
  CHECK(talk.stream().paired_by == PairedBy::answer);
  CHECK(talk.stream().sides[0].qpn == 0x11);
  CHECK(talk.stream().sides[0].address == kAlice);
  CHECK(talk.stream().sides[1].address == kBob);
  CHECK(talk.stream().sides[0].udp_source_port == 0xc111);
  CHECK(talk.stream().sides[1].udp_source_port == 0xc222);
  // Bob's own requests, in his own number space.
  CHECK(talk.packet(false, Opcode::rc_send_only, 500, 64).record.stream == 0);
  CHECK(talk.packet(true, Opcode::rc_acknowledge, 500, 0).nothing());
  CHECK(talk.analyzer.stream_count() == 1);
}

TEST_CASE("many connections between two hosts find their peers by PSN", "[streams]") {
  constexpr std::uint32_t kQps = 40;
  CapturedTalk talk;
  for (std::uint32_t i = 0; i < kQps; ++i) ask(talk, 0x100 + i, 1000 * i);
  CHECK(talk.analyzer.stream_count() == kQps);
  for (std::uint32_t i = kQps; i-- > 0;) {
    const Said said = reply(talk, 0x200 + i, 1000 * i, 1);
    INFO(i << said.text());
    CHECK(said.record.stream == i);
    CHECK(said.nothing());
  }
  CHECK(talk.analyzer.stream_count() == kQps);
  for (std::uint32_t i = 0; i < kQps; ++i) {
    CHECK(talk.stream(i).sides[0].qpn == 0x200 + i);
    CHECK(talk.stream(i).sides[1].qpn == 0x100 + i);
  }
}

TEST_CASE("where the PSNs are alike the UDP source port tells", "[streams]") {
  CapturedTalk talk;
  for (std::uint16_t i = 0; i < 4; ++i) ask(talk, 0x100u + i, 7, 0xc000 + i);
  for (std::uint16_t i = 4; i-- > 0;) {
    CHECK(reply(talk, 0x200u + i, 7, 1, 0xc000 + i).record.stream == i);
  }
}

TEST_CASE("where nothing tells, the oldest is answered first", "[streams]") {
  CapturedTalk talk;
  ask(talk, 0x100, 7);
  ask(talk, 0x101, 7);
  CHECK(reply(talk, 0x200, 7, 1).record.stream == 0);
  CHECK(reply(talk, 0x201, 7, 1).record.stream == 1);
}

TEST_CASE("a response that fits nothing stays alone until one fits", "[streams]") {
  CapturedTalk talk;
  ask(talk, 0x100, 50);
  const Said early = reply(talk, 0x200, 49, 1);
  CHECK(early.record.stream == 1);
  CHECK(early.nothing());
  CHECK(reply(talk, 0x200, 50, 2).record.stream == 0);  // the lower index from now on
  CHECK(talk.analyzer.find(2)->stream == 1);            // what was said is not taken back
  CHECK(talk.stream(0).paired_by == PairedBy::answer);
}

TEST_CASE("a wrong guess is taken back when an answer shows better", "[streams]") {
  CapturedTalk talk;
  // The same port is all that is known: bob's QP is taken for the peer of 0x100.
  ask(talk, 0x100, 50, 0xc999);
  const Said theirs = talk.packet(false, Opcode::rc_send_only, 900, 64, to(0x201, 0xc999));
  CHECK(theirs.record.stream == 0);
  CHECK(talk.stream(0).paired_by == PairedBy::guess);
  ask(talk, 0x101, 70, 0xc888);
  // But it answers 0x101.
  const Said said = reply(talk, 0x201, 70, 1, 0xc999);
  CHECK(said.record.stream == 1);
  CHECK(said.nothing());
  CHECK(talk.stream(1).paired_by == PairedBy::answer);
  CHECK(talk.stream(0).paired_by == PairedBy::nothing);
  CHECK(reply(talk, 0x200, 50, 1).record.stream == 0);
}

TEST_CASE("UC has no answers: the only candidate is taken", "[streams][uc]") {
  CapturedTalk talk;
  talk.packet(true, Opcode::uc_send_only, 1, 64);
  const Said back = talk.packet(false, Opcode::uc_send_only, 900, 64);
  CHECK(back.record.stream == 0);
  CHECK(back.record.sender == 1);
  CHECK(back.nothing());
  CHECK(talk.stream().paired_by == PairedBy::guess);
}

TEST_CASE("UC with two candidates is not guessed", "[streams][uc]") {
  CapturedTalk talk;
  talk.packet(true, Opcode::uc_send_only, 1, 64, to(0x100));
  talk.packet(true, Opcode::uc_send_only, 1, 64, to(0x101));
  CHECK(talk.packet(false, Opcode::uc_send_only, 900, 64).record.stream == 2);
}

TEST_CASE("the user's table pairs before anything was said", "[streams][user]") {
  AnalyzerOptions options;
  options.connections.push_back({{kBob, kAlice}, {0x101, 0x201}, 1024});
  options.connections.push_back({{kAlice, kBob}, {0x200, 0x100}, 0});
  CapturedTalk talk(options);
  CHECK(ask(talk, 0x100, 5).record.stream == 0);
  CHECK(ask(talk, 0x101, 5).record.stream == 1);
  CHECK(talk.stream(0).paired_by == PairedBy::user);
  CHECK(talk.stream(1).path_mtu == 1024);
  CHECK(talk.stream(1).sides[0].qpn == 0x201);
  CHECK(reply(talk, 0x201, 5, 1).record.stream == 1);
  CHECK(reply(talk, 0x200, 5, 1).record.stream == 0);
  CHECK(talk.analyzer.stream_count() == 2);
}

TEST_CASE("UD: the two queue pairs are a stream", "[streams][ud]") {
  CapturedTalk talk;
  CHECK(talk.packet(true, Opcode::ud_send_only, 1, 64).record.stream == 0);
  const Said back = talk.packet(false, Opcode::ud_send_only, 1, 64);
  CHECK(back.record.stream == 0);
  CHECK(back.record.sender == 1);
  CHECK(talk.stream().paired_by == PairedBy::deth);
  // Another source QP to the same destination is another stream.
  CHECK(talk.packet(true, Opcode::ud_send_only, 2, 64,
                    [](Frame& f) { f.headers.deth.source_qpn = 0x99; })
            .record.stream == 1);
}

TEST_CASE("two hosts with the same QP numbers, and QP 1 with itself", "[streams]") {
  CapturedTalk talk;
  const auto mad = [](Frame& f) {
    f.headers.bth.destination_qpn = 1;
    f.headers.deth.source_qpn = 1;
  };
  CHECK(talk.packet(true, Opcode::ud_send_only, 0, 256, mad).record.stream == 0);
  CHECK(talk.packet(false, Opcode::ud_send_only, 0, 256, mad).record.stream == 0);
  CHECK(ask(talk, 0x17, 5).record.stream == 1);
  CHECK(reply(talk, 0x17, 5, 1).record.stream == 1);
  CHECK(talk.stream(1).sides[0].qpn == 0x17);
}

TEST_CASE("services are streams apart, also with the same QP number", "[streams]") {
  CapturedTalk talk;
  CHECK(talk.request(Opcode::rc_send_only, 1, 64).record.stream == 0);
  CHECK(talk.request(Opcode::uc_send_only, 1, 64).record.stream == 1);
  CHECK(talk.request(Opcode::xrc_send_only, 1, 64).record.stream == 2);
  CHECK(talk.stream(2).service == wire::Service::extended_reliable_connection);
}

TEST_CASE("a CNP belongs to the stream whose queue pair it slows", "[streams][cnp]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  const Said cnp = talk.packet(false, Opcode::cnp, 0, 0);
  CHECK(cnp.record.stream == 0);
  CHECK(cnp.record.sender == 1);
  CHECK(talk.stream().sides[1].cnps == 1);
  // Nobody uses that one.
  CHECK(talk.packet(false, Opcode::cnp, 0, 0, to(0x99)).record.stream == 1);
}

TEST_CASE("a message far off begins another connection", "[streams][restart]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  SECTION("far ahead") {
    const Said said = talk.send(1'000'000);
    CHECK(said.only().kind == connection_restarted);
    CHECK(said.record.stream == 1);
    CHECK(said.record.relative_psn == 0);
    const Said ack = talk.ack(1'000'000, 1);
    CHECK(ack.record.stream == 1);
    CHECK(ack.nothing());
    CHECK(talk.stream(1).sides[0].qpn == 0x11);
    CHECK(talk.stream(1).sides[1].qpn == 0x12);
  }
  SECTION("far behind") {
    CHECK(talk.send(0xa00000).only().kind == connection_restarted);
  }
  SECTION("from the same first PSN again, when all was done") {
    talk.send(2);
    talk.ack(2, 2);
    CHECK(talk.send(1, 20).only().kind == connection_restarted);
  }
  SECTION("from the same first PSN with the same packet, after a long time") {
    talk.send(2);
    talk.ack(2, 2);
    CHECK(talk.wait(11s).send(1).only().kind == connection_restarted);
  }
  SECTION("near miss: all from the first PSN again, as the ACK was lost behind the capture") {
    talk.send(2);
    talk.ack(2, 2);
    CHECK(talk.wait(70ms).send(1).only().kind == retransmission_timeout);
    CHECK(talk.send(2).only().kind == retransmission_timeout);
  }
  SECTION("near miss: from the first PSN again as its ACK was lost") {
    talk.send(2);
    CHECK(talk.wait(70ms).send(1).only().kind == retransmission_timeout);
  }
  SECTION("near miss: not so far") {
    CHECK(talk.send(60'000).only().kind == psn_gap);
  }
  SECTION("near miss: inside a message") {
    CHECK(talk.request(Opcode::rc_send_middle, 1'000'000, 256).has(psn_gap));
  }
}

TEST_CASE("a READ of many PSNs is no restart", "[streams][restart]") {
  CapturedTalk talk;
  talk.write(1, 2);
  talk.read(3, 256u << 20);
  CHECK(talk.send(3 + (1 << 20)).nothing());
  CapturedTalk late;
  late.read(3, 256u << 20);
  CHECK(late.send(3 + (1 << 18)).nothing());  // 1024 bytes each
  CHECK(late.stream().path_mtu == 1024);
}

TEST_CASE("frames are found by number, the first packet of each", "[streams]") {
  CapturedTalk talk;
  talk.send(1);
  talk.packet(true, Opcode::rc_send_only, 2, 64, [](Frame& f) { f.number = 70'000; });
  talk.packet(true, Opcode::rc_send_only, 3, 64, [](Frame& f) { f.number = 70'000; });
  REQUIRE(talk.analyzer.find(1) != nullptr);
  CHECK(talk.analyzer.find(1)->relative_psn == 0);
  REQUIRE(talk.analyzer.find(70'000) != nullptr);
  CHECK(talk.analyzer.find(70'000)->relative_psn == 1);
  CHECK(talk.analyzer.find(2) == nullptr);
  CHECK(talk.analyzer.find(0) == nullptr);
  CHECK(talk.analyzer.find(0xffffffff) == nullptr);
}

}  // namespace
}  // namespace softrnic::analysis::test
