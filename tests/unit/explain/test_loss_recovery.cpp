// SPDX-License-Identifier: BSD-3-Clause
// Losses of hand-made conversations, with the figures that they must have.
#include "explain/loss_recovery.hpp"

#include "explained_talk.hpp"

using namespace softrnic;
using namespace softrnic::explain;
using namespace softrnic::explain::test;

// Each packet comes a microsecond after the one before it, besides what a test waits.

TEST_CASE("a packet lost in front of the capture, asked for by a NAK") {
  ExplainedTalk e;
  e.talk.send(100);  // frame 1
  e.talk.send(102);  // frame 2: 101 is missing
  e.talk.wait(10us);
  e.talk.nak(101, 1);  // frame 3, 11 us after the gap was seen
  e.talk.wait(20us);
  e.talk.send(101);  // frame 4, 21 us after the NAK
  e.talk.send(102);  // frame 5
  e.talk.ack(102, 3);
  const Loss& loss = e.only_loss();
  CHECK(loss.cause == LossCause::nak);
  CHECK(loss.psn == 101);
  CHECK(loss.lost_frame == 0);
  CHECK(loss.shown_frame == 2);
  CHECK(loss.cause_frame == 3);
  CHECK(loss.again_frame == 4);
  CHECK(loss.last_frame == 5);
  CHECK(loss.packets == 1);
  CHECK(loss.packets_again == 2);
  CHECK(loss.rounds == 1);
  CHECK(loss.noticed_after() == 11us);
  CHECK(loss.reacted_after() == 21us);
  CHECK(loss.time_lost() == 32us);
  CHECK(e.account().losses->by_cause[static_cast<std::size_t>(LossCause::nak)] == 1);
  CHECK(e.account().losses->time_lost.total() == 32us);
  CHECK(e.account().retransmitted[0] == 2);
}

TEST_CASE("a packet lost behind the capture: the time runs from when it was sent") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.send(101);  // frame 2: passes here and does not arrive
  e.talk.wait(4us);
  e.talk.send(102);
  e.talk.nak(101, 1);  // frame 4, 6 us after frame 2
  e.talk.send(101);    // frame 5
  e.talk.send(102);
  const Loss& loss = e.only_loss();
  CHECK(loss.cause == LossCause::nak);
  CHECK(loss.lost_frame == 2);
  CHECK(loss.shown_frame == 0);
  CHECK(loss.cause_frame == 4);
  CHECK(loss.packets == 1);
  CHECK(loss.noticed_after() == 6us);
  CHECK(loss.time_lost() == 7us);
}

TEST_CASE("a packet that overtook another is discarded, not lost on the way") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.send(102);    // frame 2 overtakes
  e.talk.send(101);    // frame 3, which comes late
  e.talk.send(103);    // frame 4
  e.talk.nak(101, 1);  // frame 5: for frame 2; then frame 3 comes, and is taken
  e.talk.nak(102, 2);  // frame 6: for frame 4
  e.talk.send(102);    // frame 7
  e.talk.send(103);
  e.talk.ack(103, 4);
  const Loss& loss = e.only_loss();
  CHECK(loss.cause == LossCause::nak);
  CHECK(loss.psn == 102);
  CHECK(loss.lost_frame == 2);
  CHECK(loss.late_frame == 3);
  CHECK(loss.packets == 0);
}

TEST_CASE("an older packet that came late has nothing to do with a loss behind the capture") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.send(102);  // frame 2 overtakes, behind a place where it is put in order again
  e.talk.send(101);
  e.talk.send(103);  // frame 4 does not arrive
  e.talk.send(104);
  e.talk.nak(103, 4);
  e.talk.send(103);
  e.talk.send(104);
  e.talk.ack(104, 5);
  const Loss& loss = e.only_loss();
  CHECK(loss.psn == 103);
  CHECK(loss.lost_frame == 4);
  CHECK(loss.late_frame == 0);
}

TEST_CASE("a loss that nothing tells of is mended by the timer") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.send(101);
  e.talk.wait(67ms);
  e.talk.send(100);  // frame 3
  e.talk.send(101);
  e.talk.ack(101, 2);
  const Loss& loss = e.only_loss();
  CHECK(loss.cause == LossCause::timeout);
  CHECK(loss.psn == 100);
  CHECK(loss.lost_frame == 1);
  CHECK(loss.cause_frame == 0);
  CHECK(loss.packets_again == 2);
  CHECK(loss.time_lost() == 67ms + 2us);
  CHECK_FALSE(loss.gave_up);
}

TEST_CASE("going back to the same packet once more is another round") {
  ExplainedTalk e;
  e.talk.send(100);
  for (int i = 0; i < 2; ++i) {
    e.talk.wait(67ms);
    e.talk.send(100);
  }
  e.talk.ack(100, 1);
  const Loss& loss = e.only_loss();
  CHECK(loss.rounds == 2);
  CHECK(loss.packets_again == 2);
  CHECK(loss.time_lost() == 2 * (67ms + 1us));
}

TEST_CASE("a packet that was lost again is missed from when it was sent again") {
  ExplainedTalk e;
  for (std::uint32_t psn = 100; psn < 104; ++psn) e.talk.send(psn);
  e.talk.nak(100, 0);  // frame 5
  e.talk.wait(1ms);
  for (std::uint32_t psn = 100; psn < 104; ++psn) e.talk.send(psn);  // frames 6 to 9
  e.talk.nak(102, 2);                                                // frame 10
  e.talk.send(102);                                                  // 4 us after frame 8
  e.talk.send(103);
  e.finished();
  REQUIRE(e.explanation.losses().size() == 2);
  const Loss& second = e.explanation.losses()[1];
  CHECK(second.psn == 102);
  CHECK(second.before_from == 6);
  CHECK(second.before_to == 9);
  CHECK(second.time_lost() == 3us);
}

TEST_CASE("a lost READ response shows by the one behind it") {
  ExplainedTalk e;
  e.talk.read(100, 256);                                      // frame 1
  e.talk.read(101, 256, 0x1100);                              // frame 2
  e.talk.answer(Opcode::rc_read_response_only, 101, 256, 2);  // frame 3: 100 is missing
  e.talk.wait(9us);
  e.talk.read(100, 256);  // frame 4
  e.talk.answer(Opcode::rc_read_response_only, 100, 256, 2);
  const Loss& loss = e.only_loss();
  CHECK(loss.cause == LossCause::implied);
  CHECK(loss.side == 0);
  CHECK(loss.cause_frame == 3);
  CHECK(loss.again_frame == 4);
  CHECK(loss.reacted_after() == 10us);
}

TEST_CASE("UC never mends a loss") {
  ExplainedTalk e;
  e.talk.request(Opcode::uc_send_only, 100, 64);
  e.talk.request(Opcode::uc_send_only, 103, 64);
  const Loss& loss = e.only_loss();
  CHECK(loss.cause == LossCause::never);
  CHECK(loss.packets == 2);
  CHECK(loss.psn == 101);
  CHECK(e.account().losses->recovery_times.samples() == 0);
}

TEST_CASE("RNR NAKs of one request are one wait") {
  ExplainedTalk e;
  e.talk.send(100);
  for (int i = 0; i < 2; ++i) {
    e.talk.ack(100, 0, Syndrome::rnr_nak(14));  // 1.28 ms... whatever the table says
    e.talk.wait(3ms);
    e.talk.send(100);
  }
  e.talk.ack(100, 1);
  const ConnectionAccount& account = e.account();
  CHECK(account.losses->rnr_naks == 2);
  CHECK(account.losses->rnr_waited == 2 * (3ms + 1us));
  CHECK(account.losses->losses == 0);
  const Moment& moment = e.worst();
  CHECK(moment.kind == MomentKind::not_ready);
  CHECK(moment.wait.naks == 2);
  CHECK(moment.wait.asked == 2 * wire::rnr_timer(14));
  CHECK(moment.lost == 2 * (3ms + 1us));
  CHECK(account.ending == Ending::open);
}

TEST_CASE("RNR NAKs and then silence: the sender gave up") {
  ExplainedTalk e;
  e.talk.send(100);
  e.talk.ack(100, 0, Syndrome::rnr_nak(1));
  e.talk.wait(3ms).send(100);
  e.talk.ack(100, 0, Syndrome::rnr_nak(1));
  CHECK(e.account().ending == Ending::exhausted);
  CHECK(e.worst().kind == MomentKind::gave_up);
}

TEST_CASE("timeouts without end: the retries are used up") {
  ExplainedTalk e;
  e.talk.send(100);
  for (int i = 0; i < 4; ++i) e.talk.wait(67ms).send(100);
  CHECK(e.account().ending == Ending::exhausted);
  CHECK(e.only_loss().gave_up);
  CHECK(e.worst().kind == MomentKind::gave_up);
  CHECK(e.only_operation().unanswered() == 1);
}

TEST_CASE("an answer at the last moment: nobody gave up") {
  ExplainedTalk e;
  e.talk.send(100);
  for (int i = 0; i < 4; ++i) e.talk.wait(67ms).send(100);
  e.talk.ack(100, 1);
  CHECK(e.account().ending == Ending::open);
  CHECK(e.worst().kind == MomentKind::loss);
}
