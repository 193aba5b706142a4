// SPDX-License-Identifier: BSD-3-Clause
// A capture that keeps no more than the beginning of a RETH: order and answers are understood all
// the same, and what the RETH would say is not made up.
#include <catch2/catch.hpp>

#include "captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

void cut(Frame& frame) {
  frame.headers_cut = true;
  frame.headers.reth = {};
  frame.headers.atomic_eth = {};
  frame.payload = {};
  frame.checksum = 0;
}

TEST_CASE("cut: a WRITE of several packets is neither too long nor too short") {
  CapturedTalk talk;
  REQUIRE(talk.request(Opcode::rc_write_first, 10, 256, cut).nothing());
  REQUIRE(talk.request(Opcode::rc_write_middle, 11, 256).nothing());
  REQUIRE(talk.request(Opcode::rc_write_last, 12, 100).nothing());
  REQUIRE(talk.ack(12, 1).nothing());
  const Message& message = talk.analyzer.message(0);
  REQUIRE(message.headers_cut);
  REQUIRE(message.length == 612);
  REQUIRE(message.state == MessageState::complete);
}

TEST_CASE("cut: a WRITE in one packet is as long as its payload") {
  CapturedTalk talk;
  REQUIRE(talk.request(Opcode::rc_write_only, 10, 100, cut).nothing());
  REQUIRE(talk.analyzer.message(0).length == 100);
}

TEST_CASE("cut: the next request tells how many PSNs a READ takes") {
  CapturedTalk talk;
  REQUIRE(talk.request(Opcode::rc_read_request, 10, 0, cut).nothing());
  REQUIRE(talk.request(Opcode::rc_read_request, 13, 0, cut).nothing());
  REQUIRE(talk.send(14).nothing());
  REQUIRE(talk.analyzer.message(0).psn_count == 3);
  REQUIRE(talk.analyzer.message(1).psn_count == 1);
  REQUIRE(talk.answer(Opcode::rc_read_response_first, 10, 256, 1).nothing());
  REQUIRE(talk.answer(Opcode::rc_read_response_middle, 11, 256, 1).nothing());
  REQUIRE(talk.answer(Opcode::rc_read_response_last, 12, 7, 1).nothing());
  REQUIRE(talk.answer(Opcode::rc_read_response_only, 13, 9, 2).nothing());
  REQUIRE(talk.ack(14, 3).nothing());
  REQUIRE(talk.analyzer.message(0).state == MessageState::complete);
  REQUIRE(talk.analyzer.message(0).length == 519);
}

TEST_CASE("cut: the last response tells how many PSNs a READ takes") {
  CapturedTalk talk;
  REQUIRE(talk.request(Opcode::rc_read_request, 10, 0, cut).nothing());
  REQUIRE(talk.answer(Opcode::rc_read_response_first, 10, 256, 1).nothing());
  REQUIRE(talk.answer(Opcode::rc_read_response_last, 11, 40, 1).nothing());
  REQUIRE(talk.send(12).nothing());
  REQUIRE(talk.ack(12, 2).nothing());
  REQUIRE(talk.analyzer.message(0).state == MessageState::complete);
  REQUIRE(talk.send(14).has(FindingKind::psn_gap));
}

TEST_CASE("cut: a missing response is missing still") {
  CapturedTalk talk;
  talk.request(Opcode::rc_read_request, 10, 0, cut);
  talk.send(13);
  talk.answer(Opcode::rc_read_response_first, 10, 256, 1);
  const Finding found = talk.answer(Opcode::rc_read_response_last, 12, 256, 1).only();
  REQUIRE(found.kind == FindingKind::read_response_missing);
  REQUIRE(found.a == 11);
}

TEST_CASE("cut: a request sent again is the same as far as it can be told") {
  CapturedTalk talk;
  talk.request(Opcode::rc_write_only, 10, 100, cut);
  talk.wait(100ms);
  REQUIRE(
      talk.request(Opcode::rc_write_only, 10, 100, cut).has(FindingKind::retransmission_timeout));
}

TEST_CASE("cut: a refusal is not explained by keys that nobody saw") {
  CapturedTalk talk;
  talk.request(Opcode::rc_write_only, 10, 100, CapturedTalk::reth(100));
  talk.ack(10, 1);
  talk.request(Opcode::rc_write_only, 11, 100, cut);
  REQUIRE(talk.nak(11, 1, wire::NakCode::remote_access_error).only().kind ==
          FindingKind::nak_remote_access);
}

}  // namespace
}  // namespace softrnic::analysis::test
