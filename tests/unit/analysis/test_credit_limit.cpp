// SPDX-License-Identifier: BSD-3-Clause
// End-to-end credits: what acknowledgements promise, and who goes beyond it.
#include <catch2/catch.hpp>

#include "analysis/credit_limit.hpp"
#include "captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using wire::Aeth;

const wire::OpcodeInfo& kSend = wire::info(Opcode::rc_send_only);

Aeth credits(std::uint8_t code, std::uint32_t msn) {
  return {Syndrome::ack(code), msn};
}

TEST_CASE("without credits there is no limit") {
  CreditLimit limit;
  for (int i = 0; i < 10; ++i) REQUIRE(limit.on_request(kSend) == 0);
  limit.on_acknowledge(credits(Syndrome::kNoCredits, 10), true);
  REQUIRE_FALSE(limit.is_limited());
  for (int i = 0; i < 10; ++i) REQUIRE(limit.on_request(kSend) == 0);
}

TEST_CASE("credits count receives from the last completed message on") {
  CreditLimit limit;
  REQUIRE(limit.on_request(kSend) == 0);
  limit.on_complete(true);
  limit.on_acknowledge(credits(2, 0xffffff), false);
  REQUIRE(limit.is_limited());
  REQUIRE(limit.limit_msn() == 1);  // the MSN wraps
  REQUIRE(limit.on_request(kSend) == 0);
  REQUIRE(limit.on_request(kSend) == 0);
  REQUIRE(limit.on_request(kSend) == 1);
  REQUIRE(limit.on_request(kSend) == 2);
  SECTION("an acknowledgement of one lifts the limit by one") {
    limit.on_complete(true);
    limit.on_acknowledge(credits(4, 0), false);
    REQUIRE(limit.on_request(kSend) == 0);
    REQUIRE(limit.on_request(kSend) == 1);
  }
  SECTION("the responder may stop to keep credits") {
    limit.on_acknowledge(credits(Syndrome::kNoCredits, 0xffffff), false);
    REQUIRE(limit.on_request(kSend) == 0);
  }
  SECTION("a NAK carries none") {
    limit.on_acknowledge({Syndrome::rnr_nak(3), 0}, false);
    REQUIRE(limit.on_request(kSend) == 3);
  }
  SECTION("with nothing outstanding the counts agree again") {
    limit.on_acknowledge(credits(1, 4), true);
    REQUIRE(limit.on_request(kSend) == 0);
    REQUIRE(limit.on_request(kSend) == 1);
  }
}

TEST_CASE("only what takes a receive counts") {
  CreditLimit limit;
  limit.on_acknowledge(credits(1, 1), true);
  for (const Opcode opcode :
       {Opcode::rc_write_only, Opcode::rc_write_first, Opcode::rc_write_middle,
        Opcode::rc_write_last, Opcode::rc_read_request, Opcode::rc_fetch_add,
        Opcode::rc_send_middle, Opcode::rc_send_last_immediate}) {
    REQUIRE(limit.on_request(wire::info(opcode)) == 0);
  }
  REQUIRE(limit.on_request(wire::info(Opcode::rc_send_first)) == 0);
  REQUIRE(limit.on_request(wire::info(Opcode::rc_write_last_immediate)) == 1);
  REQUIRE(limit.on_request(wire::info(Opcode::rc_write_only_immediate)) == 2);
  REQUIRE(limit.on_request(wire::info(Opcode::rc_send_only_invalidate)) == 3);
}

TEST_CASE("an acknowledgement for its credits alone is told from a repeated one") {
  CreditLimit limit;
  limit.on_acknowledge(credits(1, 5), true);
  REQUIRE(limit.is_update(credits(2, 5)));
  REQUIRE_FALSE(limit.is_update(credits(1, 5)));
  REQUIRE_FALSE(limit.is_update(credits(2, 4)));
  REQUIRE_FALSE(limit.is_update({Syndrome::nak(wire::NakCode::invalid_request), 5}));
}

// --- through the analyzer ---

TEST_CASE("a SEND beyond the last credit is noted") {
  CapturedTalk talk;
  REQUIRE(talk.send(100).nothing());
  REQUIRE(talk.ack(100, 1, Syndrome::ack(2)).nothing());
  REQUIRE(talk.send(101).nothing());
  REQUIRE(talk.send(102).nothing());
  REQUIRE(talk.send(103).only() == Finding{FindingKind::credits_exhausted, 0, 3, 1});
  REQUIRE(info(FindingKind::credits_exhausted).severity == Severity::note);
  REQUIRE(talk.ack(103, 4, Syndrome::ack(1)).nothing());
  REQUIRE(talk.send(104).nothing());
  REQUIRE(talk.send(105).only() == Finding{FindingKind::credits_exhausted, 0, 5, 1});
  REQUIRE(talk.send(106).only() == Finding{FindingKind::credits_exhausted, 0, 5, 2});
}

TEST_CASE("an acknowledgement that only brings credits is no duplicate") {
  CapturedTalk talk;
  talk.send(100);
  talk.ack(100, 1, Syndrome::ack(0));
  REQUIRE(talk.ack(100, 1, Syndrome::ack(3)).nothing());
  REQUIRE(talk.send(101).nothing());
  talk.ack(101, 2, Syndrome::ack(3));
  REQUIRE(talk.wait(1ms).ack(101, 2, Syndrome::ack(3)).has(FindingKind::duplicate_ack));
}

TEST_CASE("WRITEs and READs need no credits, and their answers carry some") {
  CapturedTalk talk;
  talk.send(100);
  talk.ack(100, 1, Syndrome::ack(0));
  REQUIRE(talk.write(101, 3).nothing());
  REQUIRE(talk.read(104, 64).nothing());
  REQUIRE(talk.send(105).has(FindingKind::credits_exhausted));
  REQUIRE(talk.ack(103, 2, Syndrome::ack(0)).nothing());
  talk.answer(Opcode::rc_read_response_only, 104, 64, 3,
              [](Frame& f) { f.headers.aeth.syndrome = Syndrome::ack(2); });
  REQUIRE(talk.send(106).nothing());
}

TEST_CASE("a repeated SEND is not counted again") {
  CapturedTalk talk;
  talk.send(100);
  talk.ack(100, 1, Syndrome::ack(1));
  REQUIRE(talk.send(101).nothing());
  talk.wait(100ms);
  REQUIRE_FALSE(talk.send(101).has(FindingKind::credits_exhausted));
  talk.ack(101, 2, Syndrome::ack(1));
  REQUIRE(talk.send(102).nothing());
}

}  // namespace
}  // namespace softrnic::analysis::test
