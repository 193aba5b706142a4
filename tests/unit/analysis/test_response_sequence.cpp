// SPDX-License-Identifier: BSD-3-Clause
// What acknowledgements, NAKs, READ responses and atomic results show.
#include "unit/analysis/captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using enum FindingKind;

TEST_CASE("one ACK acknowledges all before it", "[responses]") {
  CapturedTalk talk;
  for (std::uint32_t psn = 1; psn <= 4; ++psn) talk.send(psn);
  const Said ack = talk.ack(4, 4);
  CHECK(ack.nothing());
  CHECK(ack.record.answers == 4);
  CHECK(ack.record.packets_in_flight == 0);
  CHECK(talk.stream().sides[0].messages_complete == 4);
  for (std::uint32_t frame = 1; frame <= 4; ++frame) {
    CHECK(talk.analyzer.find(frame)->answered_in == 5);
  }
}

TEST_CASE("the same ACK again", "[responses]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  CHECK(talk.ack(1, 1).only() == Finding{duplicate_ack, 2, 0, 0});
  talk.send(2);
  CHECK(talk.ack(2, 2).nothing());
  CHECK(talk.ack(1, 1).only() == Finding{duplicate_ack, 2, 0, 0});
}

TEST_CASE("an ACK of what was not sent", "[responses]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  CHECK(talk.ack(2, 1).only() == Finding{ack_of_unsent, 0, 2, 0});
  talk.send(2);
  CHECK(talk.ack(2, 2).nothing());
}

TEST_CASE("answers to what came before the capture are no ghosts", "[responses]") {
  CapturedTalk talk;
  talk.send(100);
  talk.ack(100, 50);
  CHECK(talk.ack(99, 49).nothing());
  CHECK(talk.answer(Opcode::rc_read_response_only, 98, 64, 48).nothing());
}

TEST_CASE("responses to nothing", "[responses][ghost]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  SECTION("a READ response for a SEND") {
    CHECK(talk.answer(Opcode::rc_read_response_only, 1, 64, 1).only().kind == ghost);
  }
  SECTION("an atomic result for a SEND") {
    CHECK(talk.atomic_ack(1, 1, 5).only().kind == ghost);
  }
  SECTION("near miss: a repetition is acknowledged with the newest PSN, inside a READ") {
    talk.write(2, 2);
    talk.read(4, 512);
    CHECK(talk.answer(Opcode::rc_read_response_first, 4, 256, 3).nothing());
    CHECK(talk.answer(Opcode::rc_read_response_last, 5, 256, 3).nothing());
    CHECK(talk.ack(5, 3).only().kind == duplicate_ack);
  }
  SECTION("an ACK of a PSN inside a READ long past") {
    talk.write(2, 2);
    talk.read(4, 1024);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const Opcode opcode = i == 0   ? Opcode::rc_read_response_first
                            : i == 3 ? Opcode::rc_read_response_last
                                     : Opcode::rc_read_response_middle;
      CHECK(talk.answer(opcode, 4 + i, 256, 3).nothing());
    }
    CHECK(talk.ack(5, 3).only().kind == ghost);
  }
}

TEST_CASE("the MSN counts completed messages", "[responses][msn]") {
  CapturedTalk talk;
  talk.write(1, 3);
  talk.send(4);
  CHECK(talk.ack(2, 7).nothing());  // inside the first message; begins the count
  CHECK(talk.ack(4, 9).nothing());
  talk.send(5);
  SECTION("right") {
    CHECK(talk.ack(5, 10).nothing());
  }
  SECTION("ahead") {
    CHECK(talk.ack(5, 12).only() == Finding{msn_jump, 0, 10, 12});
    talk.send(6);
    CHECK(talk.ack(6, 13).nothing());
  }
  SECTION("behind") {
    CHECK(talk.ack(5, 9).only() == Finding{msn_jump, 0, 10, 9});
  }
  SECTION("unknown after messages that the capture misses") {
    talk.send(8);
    CHECK(talk.ack(8, 42).nothing());
    talk.send(9);
    CHECK(talk.ack(9, 43).nothing());
  }
}

TEST_CASE("the MSN wraps", "[responses][msn]") {
  CapturedTalk talk;
  talk.send(1);
  CHECK(talk.ack(1, 0xffffff).nothing());
  talk.send(2);
  CHECK(talk.ack(2, 0).nothing());
}

TEST_CASE("a READ may be counted at its first or at its last response", "[responses][msn]") {
  const bool early = GENERATE(false, true);
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  talk.read(2, 512);
  CHECK(talk.answer(Opcode::rc_read_response_first, 2, 256, early ? 2 : 1).nothing());
  CHECK(talk.answer(Opcode::rc_read_response_last, 3, 256, 2).nothing());
}

TEST_CASE("a NAK that refuses ends the connection", "[responses][nak]") {
  const auto [code, kind] = GENERATE(table<wire::NakCode, FindingKind>({
      {wire::NakCode::invalid_request, nak_invalid_request},
      {wire::NakCode::remote_access_error, nak_remote_access},
      {wire::NakCode::remote_operational_error, nak_remote_operational},
      {wire::NakCode::invalid_rd_request, nak_invalid_rd},
  }));
  CapturedTalk talk;
  talk.send(1);
  talk.write(2, 3);
  const Said said = talk.nak(2, 1, code);
  CHECK(said.only().kind == kind);
  CHECK(said.only().related == 2);
  CHECK(talk.stream().broken);
  CHECK(talk.message({*talk.analyzer.find(2), {}}).state == MessageState::refused);
  CHECK(talk.message({*talk.analyzer.find(2), {}}).completed_frame == 5);
  CHECK(talk.message({*talk.analyzer.find(1), {}}).state == MessageState::complete);
  CHECK(talk.stream().sides[1].other_naks == 1);
}

TEST_CASE("a syndrome without a meaning", "[responses][nak]") {
  CapturedTalk talk;
  talk.send(1);
  const Said said = talk.ack(1, 0, Syndrome(0x65));
  CHECK(said.only() == Finding{nak_reserved, 1, 0x65, 0});
}

TEST_CASE("a syndrome of the reserved kind is dropped: it refuses nothing", "[responses][nak]") {
  CapturedTalk talk;
  const Said request = talk.send(1);
  talk.send(2);
  CHECK(talk.ack(2, 2, Syndrome(0x40)).only() == Finding{nak_reserved, 2, 0x40, 0});
  CHECK_FALSE(talk.stream().broken);
  CHECK(talk.message(request).state == MessageState::open);
  CHECK(talk.ack(2, 2).nothing());
  CHECK(talk.message(request).state == MessageState::complete);
}

TEST_CASE("a selective acknowledgement tells of a loss once, and what is sent again leaps",
          "[responses][selective]") {
  CapturedTalk talk;
  const Said done = talk.send(1);
  for (const std::uint32_t psn : {2u, 3u, 4u, 5u, 6u, 7u}) talk.send(psn);
  // 2 and 5 are lost behind the capture.
  CHECK(talk.ack(3, 2, Syndrome::selective(1)).only() == Finding{selective_ack, 3, 2, 1});
  CHECK(talk.message(done).state == MessageState::complete);
  CHECK(talk.ack(4, 2, Syndrome::selective(2)).nothing());
  CHECK(talk.ack(7, 2, Syndrome::selective(2)).nothing());
  CHECK(talk.stream().sides[1].selective_acks == 3);
  CHECK(talk.stream().sides[1].other_naks == 0);
  CHECK_FALSE(talk.stream().broken);
  const Said first = talk.send(2);
  CHECK(first.only().kind == retransmission_selective);
  CHECK(first.only().related == 8);
  CHECK(talk.send(5).only().kind == retransmission_selective);  // no gap: 3 and 4 are there
  CHECK(talk.send(8).nothing());
  CHECK(talk.ack(8, 8).nothing());
  CHECK(talk.stream().sides[0].timeouts == 0);
  CHECK(talk.stream().sides[0].messages_complete == 8);
}

TEST_CASE("near miss: no selective acknowledgement", "[responses][selective]") {
  CapturedTalk talk;
  talk.send(1);
  for (const std::uint32_t psn : {2u, 3u, 4u}) talk.send(psn);
  CHECK(talk.ack(4, 3, Syndrome::selective(2)).has(nak_reserved));  // what it keeps is waited for
  CHECK(talk.ack(9, 2, Syndrome::selective(2)).has(nak_reserved));  // of what was not sent
  CHECK(talk.ack(4, 2, Syndrome(0xc1)).has(nak_reserved));
}

TEST_CASE("a sequence NAK names the packet that showed the gap", "[responses][nak]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  talk.send(4);
  talk.send(5);
  CHECK(talk.nak(3, 2).only() == Finding{nak_psn_sequence, 3, 3, 0});
  CHECK(talk.stream().sides[0].messages_complete == 2);
  CHECK_FALSE(talk.stream().broken);
}

TEST_CASE("answers alone, without the requests, are told but not judged",
          "[responses][one-sided]") {
  CapturedTalk talk;
  CHECK(talk.ack(5, 1).nothing());
  CHECK(talk.ack(4, 9).nothing());
  CHECK(talk.answer(Opcode::rc_read_response_only, 100, 64, 3).nothing());
  CHECK(talk.nak(7, 1).only() == Finding{nak_psn_sequence, 0, 7, 0});
  CHECK(talk.ack(7, 1, Syndrome::rnr_nak(1)).only() == Finding{rnr_nak, 0, 10'000, 1});
  CHECK(talk.nak(8, 1, wire::NakCode::remote_access_error).only().related == 0);
}

TEST_CASE("an answer to a READ that the capture misses is no ghost", "[responses][ghost]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  CHECK(talk.answer(Opcode::rc_read_response_first, 2, 256, 2).nothing());
  CHECK(talk.answer(Opcode::rc_read_response_last, 3, 256, 2).nothing());
  CHECK(talk.send(4).nothing());  // nor was anything lost before this one
  CHECK(talk.ack(4, 3).nothing());
  CHECK(talk.answer(Opcode::rc_read_response_only, 5000, 64, 2).only().kind == ghost);
}

TEST_CASE("an answer doubled by the network", "[responses]") {
  CapturedTalk talk;
  talk.send(1);
  talk.send(2);
  SECTION("an ACK") {
    talk.ack(1, 1);
    CHECK(talk.doubled().only() == Finding{duplicate, 3, 0, 0});
  }
  SECTION("a NAK is counted once") {
    talk.nak(1, 0);
    CHECK(talk.doubled().only() == Finding{duplicate, 3, 0, 0});
    CHECK(talk.stream().sides[1].sequence_naks == 1);
  }
  SECTION("near miss: the same ACK once more is another packet") {
    talk.ack(1, 1);
    CHECK(talk.ack(1, 1).only().kind == duplicate_ack);
  }
}

TEST_CASE("what answers a repetition tells the MSN of now", "[responses][msn]") {
  CapturedTalk talk;
  talk.send(1);
  talk.ack(1, 1);
  talk.fetch_add(2);
  talk.send(3);
  talk.wait(70ms).fetch_add(2);
  talk.send(3);
  CHECK(talk.atomic_ack(2, 3, 7).nothing());  // both were executed before
  CHECK(talk.ack(3, 3).nothing());
  talk.send(4);
  CHECK(talk.ack(4, 4).nothing());
}

TEST_CASE("a sequence NAK of a packet that was sent again names what came after it",
          "[responses][nak]") {
  CapturedTalk talk;
  for (std::uint32_t psn : {1u, 3u, 4u}) talk.send(psn);
  CHECK(talk.nak(2, 1).only().related == 2);
  for (std::uint32_t psn : {2u, 3u, 4u}) talk.send(psn);
  CHECK(talk.nak(3, 2).only().related == 7);  // lost behind the capture
}

// --- READ ---

Opcode read_response(std::uint32_t i, std::uint32_t count) {
  if (count == 1) return Opcode::rc_read_response_only;
  if (i == 0) return Opcode::rc_read_response_first;
  return i + 1 == count ? Opcode::rc_read_response_last : Opcode::rc_read_response_middle;
}

TEST_CASE("a READ is complete with its last response", "[responses][read]") {
  CapturedTalk talk;
  const Said read = talk.read(10, 700);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Said said = talk.answer(read_response(i, 3), 10 + i, i == 2 ? 188 : 256, i == 2 ? 1 : 0);
    INFO(said.text());
    CHECK(said.nothing());
    CHECK(said.record.answers == 1);
    CHECK(said.record.message_offset == 256 * i);
    CHECK(said.record.ends_message == (i == 2));
  }
  const Message& message = talk.message(read);
  CHECK(message.state == MessageState::complete);
  CHECK(message.whole);
  CHECK(message.payload_bytes == 700);
  CHECK(message.completed_frame == 4);
  CHECK(talk.analyzer.find(1)->answered_in == 4);
  CHECK(talk.stream().path_mtu == 256);
}

TEST_CASE("a lost READ response is asked for again from the middle", "[responses][read]") {
  CapturedTalk talk;
  talk.read(10, 1280);
  SECTION("lost before the capture") {
    talk.answer(read_response(0, 5), 10, 256, 0);
    talk.answer(read_response(1, 5), 11, 256, 0);
    CHECK(talk.answer(read_response(3, 5), 13, 256, 0).only() ==
          Finding{read_response_missing, 0, 12, 1});
    CHECK(talk.answer(read_response(4, 5), 14, 256, 1).nothing());
    const Said again = talk.read(12, 768, 0x1200);
    CHECK(again.only().kind == retransmission_implied);
    CHECK(again.only().related == 4);
    CHECK(again.record.original == 1);
    const Said first = talk.answer(read_response(0, 3), 12, 256, 1);
    INFO(first.text());
    CHECK(first.nothing());
    CHECK(first.record.message_offset == 512);
    CHECK(first.record.ends_message);
    CHECK(talk.answer(read_response(1, 3), 13, 256, 1).only() ==
          Finding{response_repeated, 4, 0, 0});
    CHECK(talk.answer(read_response(2, 3), 14, 256, 1).only() ==
          Finding{response_repeated, 5, 0, 0});
  }
  SECTION("lost behind the capture") {
    for (std::uint32_t i = 0; i < 5; ++i) {
      CHECK(talk.answer(read_response(i, 5), 10 + i, 256, i == 4).nothing());
    }
    const Said again = talk.read(12, 768, 0x1200);
    CHECK(again.only().kind == retransmission_implied);
    CHECK(again.only().related == 5);
  }
  SECTION("the last one lost: a timer runs out") {
    for (std::uint32_t i = 0; i < 4; ++i) talk.answer(read_response(i, 5), 10 + i, 256, 0);
    CHECK(talk.wait(70ms).read(14, 256, 0x1400).only().kind == retransmission_timeout);
    const Said last = talk.answer(Opcode::rc_read_response_only, 14, 256, 1);
    INFO(last.text());
    CHECK(last.nothing());
    CHECK(last.record.ends_message);
  }
  SECTION("another READ under a PSN of this one") {
    talk.answer(read_response(0, 5), 10, 256, 0);
    CHECK_FALSE(talk.read(12, 300, 0x9000).has(retransmission_implied));
  }
}

TEST_CASE("READ responses of a wrong size", "[responses][read]") {
  CapturedTalk talk;
  talk.read(1, 300);
  talk.read(3, 100);
  talk.answer(read_response(0, 2), 1, 256, 0);
  CHECK(talk.answer(read_response(1, 2), 2, 40, 1).only() ==
        Finding{read_response_wrong_size, 0, 40, 44});
  CHECK(talk.answer(read_response(0, 1), 3, 104, 2).only() ==
        Finding{read_response_wrong_size, 0, 104, 100});
}

TEST_CASE("an ACK behind a READ that was not answered shows the loss", "[responses][read]") {
  CapturedTalk talk;
  talk.read(1, 64);
  talk.answer(read_response(0, 1), 1, 64, 1);
  talk.read(2, 64);
  talk.send(3);
  CHECK(talk.ack(3, 3).only() == Finding{read_response_missing, 0, 2, 1});
  const Said again = talk.read(2, 64);
  CHECK(again.only().kind == retransmission_implied);
  CHECK(again.only().related == 5);
}

TEST_CASE("a READ whose extent only the responses tell", "[responses][read]") {
  CapturedTalk talk;
  const Said read = talk.read(1, 4096);
  CHECK(talk.answer(read_response(0, 4), 1, 1024, 0).nothing());
  CHECK(talk.message(read).psn_count == 4);
  CHECK(talk.answer(read_response(1, 4), 2, 1024, 0).nothing());
  CHECK(talk.answer(read_response(2, 4), 3, 1024, 0).nothing());
  CHECK(talk.answer(read_response(3, 4), 4, 1024, 1).nothing());
  CHECK(talk.message(read).state == MessageState::complete);
  CHECK(talk.send(5).nothing());
}

TEST_CASE("a spoilt READ response is asked for again", "[responses][read][icrc]") {
  CapturedTalk talk;
  talk.read(1, 768);
  talk.answer(read_response(0, 3), 1, 256, 0);
  CHECK(talk.answer(read_response(1, 3), 2, 256, 0, [](Frame& f) { f.icrc = IcrcVerdict::bad; })
            .only()
            .kind == bad_icrc);
  CHECK(talk.answer(read_response(2, 3), 3, 256, 1).nothing());
  CHECK(talk.read(2, 512, 0x1100).only().kind == retransmission_implied);
}

// --- atomics ---

TEST_CASE("a lost atomic result: asked again, answered with the saved value",
          "[responses][atomic]") {
  CapturedTalk talk;
  for (std::uint32_t psn = 1; psn <= 3; ++psn) talk.fetch_add(psn);
  talk.atomic_ack(1, 1, 100);
  CHECK(talk.atomic_ack(3, 3, 102).only() == Finding{read_response_missing, 0, 2, 1});
  const Said again = talk.fetch_add(2);
  CHECK(again.only().kind == retransmission_implied);
  CHECK(again.only().related == 5);
  CHECK(talk.fetch_add(3).only().kind == retransmission_implied);
  CHECK(talk.atomic_ack(2, 3, 101).nothing());
  SECTION("the same value") {
    CHECK(talk.atomic_ack(3, 3, 102).only() == Finding{response_repeated, 5, 0, 0});
  }
  SECTION("another value: it was executed twice") {
    const Said twice = talk.atomic_ack(3, 3, 103);
    CHECK(twice.only() == Finding{atomic_changed, 5, 0, 0});
  }
}

TEST_CASE("FLUSH and ATOMIC WRITE are answered like a READ of nothing", "[responses][flush]") {
  CapturedTalk talk;
  const Said flush = talk.request(Opcode::rc_flush, 1, 0, CapturedTalk::reth(4096));
  const Said write = talk.request(Opcode::rc_atomic_write, 2, 8, CapturedTalk::reth(8));
  CHECK(talk.answer(Opcode::rc_read_response_only, 1, 0, 1).nothing());
  CHECK(talk.answer(Opcode::rc_read_response_only, 2, 0, 2).nothing());
  CHECK(talk.message(flush).state == MessageState::complete);
  CHECK(talk.message(write).state == MessageState::complete);
}

}  // namespace
}  // namespace softrnic::analysis::test
