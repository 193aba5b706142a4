// SPDX-License-Identifier: BSD-3-Clause
// Messages: which packets make one, where their payload stands, and what is wrong in their shape.
#include "unit/analysis/captured_talk.hpp"

namespace softrnic::analysis::test {
namespace {

using enum FindingKind;

TEST_CASE("a WRITE in three packets", "[messages]") {
  CapturedTalk talk;
  const Said first = talk.request(Opcode::rc_write_first, 10, 256, CapturedTalk::reth(700, 0x5000));
  const Said middle = talk.request(Opcode::rc_write_middle, 11, 256);
  const Said last = talk.request(Opcode::rc_write_last_immediate, 12, 188,
                                 [](Frame& f) { f.headers.immdt.data = 0x11223344; });
  CHECK(first.record.message_offset == 0);
  CHECK(middle.record.message_offset == 256);
  CHECK(last.record.message_offset == 512);
  CHECK_FALSE(middle.record.ends_message);
  CHECK(last.record.ends_message);
  CHECK(talk.message(last).state == MessageState::open);
  CHECK(talk.ack(12, 1, Syndrome::ack(5)).record.message == last.record.message);
  const Message& message = talk.message(first);
  CHECK(message.operation == wire::Operation::write);
  CHECK(message.state == MessageState::complete);
  CHECK(message.answer == Syndrome::ack(5));
  CHECK(message.number == 1);
  CHECK(message.requester == 0);
  CHECK(message.first_frame == 1);
  CHECK(message.last_frame == 3);
  CHECK(message.completed_frame == 4);
  CHECK(message.completed_time - message.first_time == 3us);
  CHECK(message.first_psn == 10);
  CHECK(message.psn_count == 3);
  CHECK(message.packets == 3);
  CHECK(message.repetitions == 0);
  CHECK(message.virtual_address == 0x5000);
  CHECK(message.remote_key == 7);
  CHECK(message.length == 700);
  CHECK(message.payload_bytes == 700);
  CHECK(message.has_immediate);
  CHECK(message.immediate == 0x11223344);
  CHECK_FALSE(message.has_invalidate);
  CHECK(message.whole);
  CHECK(talk.stream().path_mtu == 256);
  CHECK(talk.stream().sides[0].bytes == 700);
}

TEST_CASE("a SEND's length is known at its end", "[messages]") {
  CapturedTalk talk;
  const Said first = talk.request(Opcode::rc_send_first, 1, 256);
  CHECK(talk.message(first).length == 0);
  const Said last = talk.request(Opcode::rc_send_last_invalidate, 2, 10,
                                 [](Frame& f) { f.headers.ieth.remote_key = 99; });
  CHECK(last.record.message == first.record.message);
  CHECK(talk.message(first).length == 266);
  CHECK(talk.message(first).has_invalidate);
  CHECK(talk.message(first).invalidated_key == 99);
  CHECK(talk.message(first).whole);
  CHECK(talk.send(3).record.message == first.record.message + 1);
  CHECK(talk.message({*talk.analyzer.find(3), {}}).number == 2);
}

TEST_CASE("a message of nothing", "[messages]") {
  CapturedTalk talk;
  const Said send = talk.send(1, 0);
  CHECK(send.nothing());
  CHECK(send.record.ends_message);
  const Said write = talk.request(Opcode::rc_write_only, 2, 0, CapturedTalk::reth(0));
  CHECK(write.nothing());
  CHECK(talk.message(write).whole);
}

TEST_CASE("an atomic is a message of eight bytes", "[messages]") {
  CapturedTalk talk;
  const Said said = talk.request(Opcode::rc_compare_swap, 1, 0, [](Frame& f) {
    f.headers.atomic_eth.virtual_address = 0x77;
    f.headers.atomic_eth.remote_key = 3;
  });
  const Message& message = talk.message(said);
  CHECK(message.operation == wire::Operation::compare_swap);
  CHECK(message.virtual_address == 0x77);
  CHECK(message.remote_key == 3);
  CHECK(message.length == 8);
  talk.atomic_ack(1, 1, 5);
  CHECK(message.state == MessageState::complete);
}

TEST_CASE("UC messages are complete with their last packet", "[messages][uc]") {
  CapturedTalk talk;
  const Said first = talk.request(Opcode::uc_send_first, 1, 256);
  talk.request(Opcode::uc_send_middle, 2, 256);
  CHECK(talk.request(Opcode::uc_send_last, 3, 5).record.ends_message);
  CHECK(talk.message(first).state == MessageState::complete);
  const Said second = talk.request(Opcode::uc_send_first, 4, 256);
  talk.request(Opcode::uc_send_last, 6, 5);
  CHECK(talk.message(second).state == MessageState::abandoned);
  CHECK_FALSE(talk.message(second).whole);
  const Said third = talk.request(Opcode::uc_send_first, 7, 256);
  CHECK(talk.message(third).state == MessageState::open);
  talk.request(Opcode::uc_send_only, 10, 5);
  CHECK(talk.message(third).state == MessageState::abandoned);
}

TEST_CASE("a capture that begins inside a message", "[messages]") {
  CapturedTalk talk;
  const Said middle = talk.request(Opcode::rc_write_middle, 5, 256);
  CHECK(middle.nothing());
  const Said last = talk.request(Opcode::rc_write_last, 6, 100);
  CHECK(last.nothing());
  CHECK(last.record.message == middle.record.message);
  CHECK_FALSE(last.record.ends_message);
  CHECK(talk.message(last).state == MessageState::abandoned);
  CHECK_FALSE(talk.message(last).whole);
  talk.ack(6, 1);
  CHECK(talk.message(last).state == MessageState::abandoned);
  CHECK(talk.message(last).number == 0);
  const Said next = talk.send(7);
  CHECK(talk.message(next).state == MessageState::open);
  CHECK(talk.message(next).number == 1);
}

TEST_CASE("the beginning turns up late: what was seen counts then", "[messages]") {
  CapturedTalk talk;
  talk.send(1);
  talk.request(Opcode::rc_write_middle, 3, 256);
  talk.request(Opcode::rc_write_last, 4, 100);
  talk.nak(2, 1);
  const Said first = talk.request(Opcode::rc_write_first, 2, 256, CapturedTalk::reth(612));
  const Said middle = talk.request(Opcode::rc_write_middle, 3, 256);
  const Said last = talk.request(Opcode::rc_write_last, 4, 100);
  CHECK(middle.record.message == first.record.message);
  CHECK(middle.record.message_offset == 256);
  CHECK_FALSE(middle.record.repeats_payload);
  CHECK(last.record.ends_message);
  CHECK(talk.message(first).whole);
  CHECK(talk.message(first).payload_bytes == 612);
  CHECK(talk.stream().sides[0].bytes == 64 + 612);
}

TEST_CASE("a packet that counts anew where it belongs counts as what it was", "[messages]") {
  CapturedTalk talk;
  talk.send(1);
  const Said early = talk.request(Opcode::rc_write_middle, 3, 16);
  talk.nak(2, 1);
  talk.request(Opcode::rc_write_first, 2, 256, CapturedTalk::reth(612));
  talk.request(Opcode::rc_write_middle, 3, 256);
  CHECK(talk.message(early).came_to_nothing());
  CHECK(talk.message(early).payload_bytes == 0);
  CHECK(talk.stream().sides[0].bytes == 64 + 512);
}

TEST_CASE("a late packet finds its place in the message", "[messages]") {
  CapturedTalk talk;
  const Said first = talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(1024));
  talk.request(Opcode::rc_write_last, 4, 256);
  CHECK(talk.request(Opcode::rc_write_middle, 3, 256).record.message_offset == 512);
  const Said said = talk.request(Opcode::rc_write_middle, 2, 256);
  CHECK(said.record.message == first.record.message);
  CHECK(said.record.message_offset == 256);
  CHECK(said.record.ends_message);
  CHECK(talk.message(first).whole);
}

TEST_CASE("opcodes in a wrong order", "[messages][order]") {
  CapturedTalk talk;
  SECTION("FIRST inside a message") {
    talk.request(Opcode::rc_send_first, 1, 256);
    CHECK(talk.request(Opcode::rc_send_first, 2, 256).only() ==
          Finding{wrong_opcode_order, 1, 0, 0});
    CHECK(talk.message({*talk.analyzer.find(1), {}}).state == MessageState::abandoned);
  }
  SECTION("a READ inside a message") {
    talk.request(Opcode::rc_send_first, 1, 256);
    CHECK(talk.read(2, 64).only().kind == wrong_opcode_order);
  }
  SECTION("MIDDLE outside of one") {
    talk.send(1);
    CHECK(talk.request(Opcode::rc_send_middle, 2, 256).only().kind == wrong_opcode_order);
  }
  SECTION("LAST of another operation") {
    talk.request(Opcode::rc_send_first, 1, 256);
    CHECK(talk.request(Opcode::rc_write_last, 2, 64).has(wrong_opcode_order));
  }
  SECTION("near miss: the packets between are missing") {
    talk.send(1);
    CHECK(talk.request(Opcode::rc_send_middle, 3, 256).only().kind == psn_gap);
  }
  SECTION("near miss: after a READ") {
    talk.read(1, 64);
    CHECK(talk.request(Opcode::rc_send_first, 2, 256).nothing());
    CHECK(talk.request(Opcode::rc_send_last, 3, 1).nothing());
  }
}

TEST_CASE("FIRST and MIDDLE are of the path MTU", "[messages][size]") {
  CapturedTalk talk;
  SECTION("another size than before") {
    talk.request(Opcode::rc_send_first, 1, 256);
    CHECK(talk.request(Opcode::rc_send_middle, 2, 252).only() ==
          Finding{payload_not_mtu, 0, 252, 256});
  }
  SECTION("no path MTU at all") {
    CHECK(talk.request(Opcode::rc_send_first, 1, 300).only() ==
          Finding{payload_not_mtu, 0, 300, 0});
  }
  SECTION("near miss: LAST and ONLY may be of any size") {
    talk.request(Opcode::rc_send_first, 1, 256);
    CHECK(talk.request(Opcode::rc_send_last, 2, 1).nothing());
    CHECK(talk.send(3, 100).nothing());
  }
}

TEST_CASE("pad counts", "[messages][pad]") {
  CapturedTalk talk;
  const auto padded = [](std::uint8_t pad) {
    return [=](Frame& f) { f.headers.bth.pad_count = pad; };
  };
  CHECK(talk.send(1, 61, padded(3)).nothing());
  CHECK(talk.send(2, 62, padded(3)).only() == Finding{wrong_pad, 0, 3, 2});
  CHECK(talk.send(3, 64, padded(1)).only() == Finding{wrong_pad, 0, 1, 0});
  CHECK(talk.request(Opcode::rc_read_request, 4, 0, padded(2)).only().kind == wrong_pad);
}

TEST_CASE("messages longer and shorter than announced", "[messages][length]") {
  CapturedTalk talk;
  SECTION("too long, seen at the packet that goes beyond") {
    talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(400));
    CHECK(talk.request(Opcode::rc_write_middle, 2, 256).only() ==
          Finding{message_too_long, 0, 512, 400});
  }
  SECTION("too short, seen at its end") {
    talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(700));
    CHECK(talk.request(Opcode::rc_write_last, 2, 256).only() ==
          Finding{message_too_short, 0, 512, 700});
  }
  SECTION("in one packet") {
    CHECK(talk.request(Opcode::rc_write_only, 1, 64, CapturedTalk::reth(60)).only().kind ==
          message_too_long);
    CHECK(talk.request(Opcode::rc_write_only, 2, 64, CapturedTalk::reth(68)).only().kind ==
          message_too_short);
  }
  SECTION("near miss: a missing packet does not shorten it") {
    talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(700));
    CHECK(talk.request(Opcode::rc_write_last, 3, 188).only().kind == psn_gap);
  }
}

TEST_CASE("a WRITE that is cut anew to fill a gap goes on with its message", "[messages]") {
  CapturedTalk talk;
  const Said first = talk.request(Opcode::rc_write_first, 1, 256, CapturedTalk::reth(768));
  talk.request(Opcode::rc_write_last, 3, 256);
  talk.nak(2, 0);
  const Said again = talk.request(Opcode::rc_write_first, 2, 256, CapturedTalk::reth(512, 0x1100));
  INFO(again.text());
  CHECK(again.only().kind == retransmission_nak);
  CHECK(again.record.message == first.record.message);
  CHECK(again.record.message_offset == 256);
}

}  // namespace
}  // namespace softrnic::analysis::test
