// SPDX-License-Identifier: BSD-3-Clause
// What the PSNs of requests show: gaps, late and doubled packets, repetitions and their causes.
#include "unit/analysis/captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using enum FindingKind;

TEST_CASE("packets in order say nothing, also where the PSN wraps", "[requests]") {
  CapturedTalk talk;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const Said said = talk.send(0xfffffd + i);
    INFO(said.text());
    CHECK(said.nothing());
    CHECK(said.record.relative_psn == static_cast<std::int32_t>(i));
    CHECK(talk.ack(0xfffffd + i, i + 1).nothing());
  }
}

TEST_CASE("a gap names the PSN expected and how many are missing", "[requests]") {
  CapturedTalk talk;
  talk.send(0xfffffe);
  CHECK(talk.send(3).only() == Finding{psn_gap, 0, 0xffffff, 4});
  CHECK(talk.send(4).nothing());
}

TEST_CASE("a READ takes a PSN for each packet of its response", "[requests][read]") {
  CapturedTalk talk;
  talk.write(0, 2);  // shows the path MTU
  CHECK(talk.read(2, 700).nothing());
  CHECK(talk.send(5).nothing());
  CHECK(talk.read(6, 0).nothing());
  CHECK(talk.read(7, 256).nothing());
  CHECK(talk.read(8, 257).nothing());
  CHECK(talk.send(10).nothing());
  CHECK(talk.read(11, 700).nothing());
  CHECK(talk.send(15).only() == Finding{psn_gap, 0, 14, 1});
}

TEST_CASE("the request behind a READ tells the path MTU", "[requests][read]") {
  for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    CapturedTalk talk;
    talk.read(5, 64 * 1024);
    CHECK(talk.stream().path_mtu == 0);
    CHECK(talk.send(5 + 64 * 1024 / mtu).nothing());
    CHECK(talk.stream().path_mtu == mtu);
    CHECK(talk.message({talk.analyzer.find(1)[0], {}}).psn_count == 64 * 1024 / mtu);
  }
}

TEST_CASE("a gap behind a READ of unknown extent counts from its longest one", "[requests][read]") {
  CapturedTalk talk;
  talk.read(5, 1024);
  CHECK(talk.send(12).only() == Finding{psn_gap, 0, 9, 3});
}

TEST_CASE("a READ of unknown extent makes no gap where several path MTUs fit", "[requests][read]") {
  CapturedTalk talk;
  talk.read(5, 300);
  CHECK(talk.send(6).nothing());
  CHECK(talk.stream().path_mtu == 0);
  CHECK(talk.send(7).nothing());
}

TEST_CASE("a late packet is out of order: it does not move what is expected", "[requests]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(3);
  CHECK(talk.send(2).only() == Finding{out_of_order, 2, 0, 0});
  CHECK(talk.send(4).nothing());
  CHECK(talk.stream().sides[0].out_of_order == 1);
  CHECK(talk.stream().sides[0].retransmissions == 0);
}

TEST_CASE("the same bits within microseconds are a duplicate", "[requests]") {
  CapturedTalk talk;
  talk.send(1);
  const Said said = talk.doubled();
  CHECK(said.only() == Finding{duplicate, 1, 0, 0});
  CHECK(said.record.original == 1);
  CHECK(said.record.repeats_payload);
  CHECK(talk.send(2).nothing());
  CHECK(talk.stream().sides[0].duplicates == 1);
}

TEST_CASE("the same bits after a timer's time are a repetition", "[requests]") {
  CapturedTalk talk;
  talk.send(1);
  const Said said = talk.doubled(100ms);
  CHECK(said.only() == Finding{retransmission_timeout, 1, 1, 100'000'000});
}

TEST_CASE("another packet with a used PSN", "[requests]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  SECTION("of another operation") {
    CHECK(talk.request(Opcode::rc_write_only, 2, 64, CapturedTalk::reth(64)).only() ==
          Finding{reused_psn, 2, 0, 0});
  }
  SECTION("of another length") {
    CHECK(talk.send(2, 65).only().kind == reused_psn);
  }
  SECTION("near miss: other flags and checksum, as a repetition may have") {
    const Said said = talk.wait(100ms).send(2, 64, [](Frame& f) {
      f.headers.bth.ack_request = true;
      f.headers.bth.migration_request = true;
    });
    CHECK(said.only().kind == retransmission_timeout);
  }
}

TEST_CASE("a WRITE to another address under the same PSN", "[requests]") {
  CapturedTalk talk;
  talk.write(1, 1);
  CHECK(talk.request(Opcode::rc_write_only, 1, 256, CapturedTalk::reth(256, 0x2000)).only().kind ==
        reused_psn);
}

TEST_CASE("a WRITE may be cut anew when it is resumed in its middle", "[requests]") {
  CapturedTalk talk;
  talk.write(1, 4);
  talk.nak(3, 0);
  const Said first = talk.request(Opcode::rc_write_first, 3, 256, CapturedTalk::reth(512, 0x1200));
  INFO(first.text());
  CHECK(first.only().kind == retransmission_nak);
  CHECK(first.record.message_offset == 512);
  CHECK(talk.request(Opcode::rc_write_last, 4, 256).only().kind == retransmission_nak);
}

TEST_CASE("a NAK brings the whole run from its PSN on", "[requests][go-back]") {
  CapturedTalk talk;
  talk.write(1, 5);
  SECTION("lost behind the capture: all five were seen") {
    CHECK(talk.nak(3, 0).only() == Finding{nak_psn_sequence, 4, 3, 0});
    for (std::uint32_t psn = 3; psn <= 5; ++psn) {
      const Opcode opcode = psn == 5 ? Opcode::rc_write_last : Opcode::rc_write_middle;
      const Said said = talk.request(opcode, psn, 256);
      INFO(said.text());
      const Finding finding = said.only();
      CHECK(finding.kind == retransmission_nak);
      CHECK(finding.related == 6);
      CHECK(finding.a == 1);
      CHECK(finding.b > 0);
      CHECK(said.record.repetition == 1);
      CHECK(said.record.original == psn);
      CHECK(said.record.repeats_payload);
    }
  }
  SECTION("and a second one from a later PSN") {
    talk.nak(3, 0);
    talk.request(Opcode::rc_write_middle, 3, 256);
    talk.request(Opcode::rc_write_middle, 4, 256);
    talk.request(Opcode::rc_write_last, 5, 256);
    talk.nak(4, 0);
    const Finding again = talk.request(Opcode::rc_write_middle, 4, 256).only();
    CHECK(again.kind == retransmission_nak);
    CHECK(again.related == 10);
    CHECK(again.a == 2);
    CHECK(talk.request(Opcode::rc_write_last, 5, 256).only().a == 2);
  }
  SECTION("near miss: so long after the NAK that a timer must have run out") {
    talk.nak(3, 0);
    CHECK(talk.wait(300ms).request(Opcode::rc_write_middle, 3, 256).only().kind ==
          retransmission_timeout);
  }
}

TEST_CASE("lost before the capture: a gap, a NAK, the missing one and all behind it",
          "[requests][go-back]") {
  CapturedTalk talk;
  talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(1024));
  CHECK(talk.request(Opcode::rc_write_middle, 3, 256).only() == Finding{psn_gap, 0, 2, 1});
  CHECK(talk.request(Opcode::rc_write_last, 4, 256).nothing());
  CHECK(talk.nak(2, 0).only() == Finding{nak_psn_sequence, 2, 2, 0});
  const Said lost = talk.request(Opcode::rc_write_middle, 2, 256);
  CHECK(lost.only() == Finding{retransmission_nak, 4, 1, 0});
  CHECK(lost.record.original == 0);
  CHECK_FALSE(lost.record.repeats_payload);
  CHECK(lost.record.ends_message);
  CHECK(talk.request(Opcode::rc_write_middle, 3, 256).only().kind == retransmission_nak);
  CHECK(talk.request(Opcode::rc_write_last, 4, 256).only().kind == retransmission_nak);
  CHECK(talk.ack(4, 1).nothing());
  CHECK(talk.stream().sides[0].lost == 1);
  CHECK(talk.stream().sides[0].retransmissions == 3);
  CHECK(talk.stream().sides[1].sequence_naks == 1);
}

TEST_CASE("a packet lost again inside a go-back shows as a gap in it", "[requests][go-back]") {
  CapturedTalk talk;
  for (std::uint32_t psn = 1; psn <= 5; ++psn) talk.send(psn);
  talk.nak(2, 1);
  talk.send(2);
  const Said said = talk.send(4);
  REQUIRE(said.findings.size() == 2);
  CHECK(said.findings[0] == Finding{psn_gap, 0, 3, 1});
  CHECK(said.findings[1].kind == retransmission_nak);
}

TEST_CASE("a go-back whose first packet was lost on the way to the capture",
          "[requests][go-back]") {
  CapturedTalk talk;
  for (std::uint32_t psn = 1; psn <= 5; ++psn) talk.send(psn);
  talk.nak(2, 1);
  const Said said = talk.send(3);
  CHECK(said.findings.at(0) == Finding{psn_gap, 0, 2, 1});
  CHECK(said.findings.at(1).kind == retransmission_nak);
}

TEST_CASE("a go-back leaves out what was acknowledged in the meantime", "[requests][go-back]") {
  CapturedTalk talk;
  for (std::uint32_t psn = 1; psn <= 5; ++psn) talk.send(psn);
  talk.wait(70ms).send(1);
  talk.send(2);
  talk.ack(3, 3);
  CHECK(talk.send(4).only().kind == retransmission_timeout);
}

TEST_CASE("a go-back whose beginning is lost twice on the way to the capture",
          "[requests][go-back]") {
  CapturedTalk talk;
  for (std::uint32_t psn : {1u, 4u, 5u}) talk.send(psn);
  talk.nak(2, 1);
  const Said said = talk.send(3);
  INFO(said.text());
  CHECK(said.has(retransmission_nak));
  CHECK(said.has(psn_gap));
  CHECK_FALSE(said.has(out_of_order));
}

TEST_CASE("spoilt packets leave no gap in a go-back", "[requests][go-back][icrc]") {
  CapturedTalk talk;
  for (std::uint32_t psn = 1; psn <= 6; ++psn) talk.send(psn);
  talk.nak(2, 1);
  talk.send(2);
  const auto bad = [](Frame& f) { f.icrc = IcrcVerdict::bad; };
  CHECK(talk.send(3, 64, bad).only().kind == bad_icrc);
  CHECK(talk.send(4, 64, bad).only().kind == bad_icrc);
  CHECK(talk.send(5).only().kind == retransmission_nak);
}

TEST_CASE("the first packet lost on the way to the capture", "[requests][go-back]") {
  CapturedTalk talk;
  talk.send(3);
  talk.send(4);
  const Said nak = talk.nak(1, 0);
  CHECK(nak.record.stream == 0);
  CHECK(nak.only().kind == nak_psn_sequence);
  CHECK(talk.send(1).only().kind == retransmission_nak);
  CHECK(talk.send(2).only().kind == retransmission_nak);
  CHECK(talk.send(3).only().kind == retransmission_nak);
}

TEST_CASE("a READ asked again does not tell the extent of itself", "[requests][read]") {
  CapturedTalk talk;
  talk.read(10, 4096);
  talk.read(12, 4096 - 512, 0x1200);
  CHECK(talk.stream().path_mtu == 0);
  CHECK(talk.send(26).nothing());
  CHECK(talk.stream().path_mtu == 256);
}

TEST_CASE("new packets behind a go-back are no repetitions", "[requests][go-back]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  talk.nak(1, 0);
  talk.send(1);
  talk.send(2);
  CHECK(talk.send(3).nothing());
  CHECK(talk.send(4).nothing());
}

TEST_CASE("a NAK whose late original comes first", "[requests][go-back]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(3);
  talk.nak(2, 1);
  CHECK(talk.send(2).only().kind == retransmission_nak);  // nothing tells it from the repetition
  CHECK(talk.send(2).only().kind == retransmission_nak);
  CHECK(talk.send(3).only().kind == retransmission_nak);
}

TEST_CASE("repetitions without a NAK are a timer's", "[requests][go-back]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  talk.send(2);
  talk.send(3);
  CHECK(talk.wait(70ms).send(2).only() == Finding{retransmission_timeout, 3, 1, 70'002'000});
  CHECK(talk.send(3).only() == Finding{retransmission_timeout, 4, 1, 70'002'000});
  CHECK(talk.stream().sides[0].timeouts == 1);
  CHECK(talk.stream().sides[0].retransmissions == 2);
}

TEST_CASE("seven repetitions are the most the field allows", "[requests][retries]") {
  CapturedTalk talk;
  talk.send(1);
  for (std::uint64_t i = 1; i <= 7; ++i) {
    const Said said = talk.wait(70ms).send(1);
    INFO(i << ": " << said.text());
    CHECK(said.has(retransmission_timeout));
    CHECK(said.has(unanswered) == (i >= 3 && i < 7));
    CHECK(said.has(retry_limit) == (i == 7));
  }
}

TEST_CASE("repetitions that the capture does not show are not counted as unanswered",
          "[requests][retries]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(3);
  for (int i = 0; i < 3; ++i) talk.wait(70ms).send(1);
  const Said late = talk.wait(70ms).send(2);
  INFO(late.text());
  CHECK_FALSE(late.has(unanswered));
}

TEST_CASE("an answer in between starts the count anew", "[requests][retries]") {
  CapturedTalk talk;
  talk.send(1);
  for (int i = 0; i < 2; ++i) talk.wait(70ms).send(1);
  talk.ack(1, 1);
  talk.send(2);
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(talk.wait(70ms).send(2).has(unanswered));
  }
}

TEST_CASE("RNR: sent again after the pause", "[requests][rnr]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  const Said rnr = talk.ack(1, 0, Syndrome::rnr_nak(12));
  CHECK(rnr.only() == Finding{rnr_nak, 1, 640'000, 1});
  SECTION("in time, with what stood behind it") {
    CHECK(talk.wait(649us).send(1).only() == Finding{retransmission_rnr, 3, 1, 650'000});
    CHECK(talk.send(2).only() == Finding{retransmission_rnr, 3, 1, 651'000});
    CHECK(talk.ack(1, 0, Syndrome::rnr_nak(12)).only() == Finding{rnr_nak, 4, 640'000, 2});
    CHECK(talk.wait(649us).send(1).only() == Finding{retransmission_rnr, 6, 2, 650'000});
    CHECK(talk.send(2).only().a == 2);
    CHECK(talk.ack(2, 2).nothing());
    CHECK(talk.stream().sides[1].rnr_naks == 2);
  }
  SECTION("too early") {
    const Said early = talk.wait(100us).send(1);
    CHECK(early.has(rnr_wait_short));
    CHECK(early.of(rnr_wait_short)->a == 101'000);
    CHECK(early.of(rnr_wait_short)->b == 640'000);
    CHECK(early.has(retransmission_rnr));
  }
  SECTION("the count of RNR NAKs in a row ends with an answer") {
    talk.wait(649us).send(1);
    talk.send(2);
    talk.ack(1, 1);
    CHECK(talk.ack(2, 1, Syndrome::rnr_nak(12)).only().b == 1);
  }
}

TEST_CASE("a wrong ICRC takes the packet for lost", "[requests][icrc]") {
  CapturedTalk talk;
  talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(1024));
  const Said bad =
      talk.request(Opcode::rc_write_middle, 2, 256, [](Frame& f) { f.icrc = IcrcVerdict::bad; });
  CHECK(bad.only() == Finding{bad_icrc, 0, 0, 0});
  CHECK(bad.record.message == kNone);
  CHECK(talk.request(Opcode::rc_write_middle, 3, 256).nothing());  // the gap is explained
  CHECK(talk.request(Opcode::rc_write_last, 4, 256).nothing());
  CHECK(talk.nak(2, 0).only() == Finding{nak_psn_sequence, 3, 2, 0});
  const Said again = talk.request(Opcode::rc_write_middle, 2, 256);
  CHECK(again.only() == Finding{retransmission_nak, 5, 1, 4000});
  CHECK(again.record.original == 2);
  CHECK_FALSE(again.record.repeats_payload);
  CHECK(again.record.ends_message);
  CHECK(talk.stream().sides[0].bad_icrc == 1);
}

TEST_CASE("an ICRC that could not be verified is no finding", "[requests][icrc]") {
  CapturedTalk talk;
  CHECK(talk.send(1, 64, [](Frame& f) { f.icrc = IcrcVerdict::unverified; }).nothing());
}

TEST_CASE("requests long after the connection ended", "[requests][error]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  talk.nak(1, 0, wire::NakCode::invalid_request);
  CHECK(talk.send(3).nothing());  // was under way
  CHECK(talk.wait(100ms).send(4).only() == Finding{request_after_error, 3, 0, 0});
}

TEST_CASE("UC: a gap is not mended, a double is a duplicate", "[requests][uc]") {
  CapturedTalk talk;
  talk.request(Opcode::uc_send_only, 1, 64);
  CHECK(talk.doubled().only() == Finding{duplicate, 1, 0, 0});
  CHECK(talk.request(Opcode::uc_send_only, 4, 64).only() == Finding{psn_gap, 0, 2, 2});
  CHECK(talk.request(Opcode::uc_send_only, 3, 64).only().kind == out_of_order);
  CHECK(talk.request(Opcode::uc_send_only, 4, 64).only().kind == reused_psn);
  CHECK(talk.request(Opcode::uc_send_only, 5, 64).nothing());
  CHECK(talk.stream().sides[0].retransmissions == 0);
}

TEST_CASE("UD: the PSNs count over all destinations and say nothing", "[requests][ud]") {
  CapturedTalk talk;
  CHECK(talk.request(Opcode::ud_send_only, 1, 64).nothing());
  CHECK(talk.request(Opcode::ud_send_only, 9, 64).nothing());
  CHECK(talk.request(Opcode::ud_send_only, 3, 64).nothing());
  CHECK(talk.doubled().only() == Finding{duplicate, 3, 0, 0});
  CHECK(talk.request(Opcode::ud_send_only, 3, 64).nothing());
  CHECK(talk.doubled(1s).nothing());
  // Cut short, so that no checksum tells: they may be different.
  const auto cut = [](Frame& f) { f.checksum = 0; };
  CHECK(talk.request(Opcode::ud_send_only, 7, 64, cut).nothing());
  CHECK(talk.request(Opcode::ud_send_only, 7, 64, cut).nothing());
}

TEST_CASE("XRC is as reliable as RC", "[requests][xrc]") {
  CapturedTalk talk;
  talk.request(Opcode::xrc_send_only, 1, 64);
  talk.request(Opcode::xrc_send_only, 2, 64);
  CHECK(talk.answer(Opcode::xrc_acknowledge, 1, 0, 1).nothing());
  const Finding again = talk.wait(70ms).request(Opcode::xrc_send_only, 2, 64).only();
  CHECK(again.kind == retransmission_timeout);
  CHECK(talk.stream().service == wire::Service::extended_reliable_connection);
}

TEST_CASE("one direction only: a repetition soon after is put down to a NAK not seen",
          "[requests][one-sided]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  talk.send(3);
  CHECK(talk.wait(1ms).send(2).only() == Finding{retransmission_nak, 0, 1, 1'002'000});
  CHECK(talk.send(3).only().kind == retransmission_nak);
  CHECK(talk.send(4).nothing());
}

TEST_CASE("packets in flight are counted until they are acknowledged", "[requests][flight]") {
  CapturedTalk talk;
  CHECK(talk.send(1, 100).record.bytes_in_flight == 100);
  const Said second = talk.send(2, 50);
  CHECK(second.record.bytes_in_flight == 150);
  CHECK(second.record.packets_in_flight == 2);
  CHECK(talk.ack(1, 1).record.bytes_in_flight == 50);
  CHECK(talk.wait(70ms).send(2, 50).record.packets_in_flight == 1);
  const Said last = talk.ack(2, 2);
  CHECK(last.record.packets_in_flight == 0);
  CHECK(last.record.bytes_in_flight == 0);
  CHECK(last.record.answers == 4);
  CHECK(talk.analyzer.find(2)->answered_in == 5);
  CHECK(talk.analyzer.find(4)->answered_in == 5);
  CHECK(talk.analyzer.find(1)->answered_in == 3);
}

TEST_CASE("READs and atomics outstanding are counted", "[requests][flight]") {
  CapturedTalk talk;
  talk.read(1, 64);
  talk.read(2, 64);
  CHECK(talk.fetch_add(3).record.outstanding_reads == 3);
  CHECK(talk.answer(Opcode::rc_read_response_only, 1, 64, 1).record.outstanding_reads == 2);
  talk.answer(Opcode::rc_read_response_only, 2, 64, 2);
  CHECK(talk.atomic_ack(3, 3, 0).record.outstanding_reads == 0);
}

}  // namespace
}  // namespace softrnic::analysis::test
