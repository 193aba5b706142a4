// SPDX-License-Identifier: BSD-3-Clause
// Selective repeat, an extension that two sides agree on (docs/selective-repeat.md). The rules of
// the standard that it must not bend are named.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::QueuePairState;
using transport::SendOperation;
using wire::NakCode;
using wire::Opcode;
using wire::Syndrome;

namespace {

Setup selective() {
  return Setup().with([](auto& a) { a.selective_repeat = true; });
}

// "early 502, 2 long, waiting for 500".
std::string describe_selective(const Packet& packet) {
  const Syndrome syndrome = packet.headers.aeth.syndrome;
  if (!syndrome.is_selective()) return describe(packet);
  return fmt::format("early {}, {} long, waiting for {}", packet.bth().psn.value(),
                     syndrome.selective_run(), packet.headers.aeth.msn);
}

Lines answers(Subject& subject) {
  Lines lines;
  for (const Packet& packet : subject.transmit()) lines.push_back(describe_selective(packet));
  return lines;
}

Packet write_only(Subject& subject, std::uint32_t psn, std::uint64_t offset, Bytes payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  return write_request(Opcode::rc_write_only, psn, Subject::kBase + offset, subject.key(), length,
                       std::move(payload));
}

bool holds(Subject& subject, std::size_t offset, const Bytes& bytes) {
  return std::equal(bytes.begin(), bytes.end(),
                    subject.bytes().begin() + static_cast<std::ptrdiff_t>(offset));
}

Packet selective_acknowledge(std::uint32_t psn, std::uint32_t run, std::uint32_t expected) {
  return acknowledge(psn, expected, Syndrome::selective(run));
}

}  // namespace

// ---------------------------------------------------------------- responder

TEST_CASE("selective repeat: a WRITE before its turn is placed at once and executed in its turn") {
  Subject subject(selective());
  subject.deliver(write_only(subject, 501, 1000, pattern(64, 9)).with_ack_request());
  CHECK(holds(subject, 1000, pattern(64, 9)));
  CHECK(answers(subject) == Lines{"early 501, 1 long, waiting for 500"});
  CHECK(subject.counters().rx_write_requests == 0);
  subject.deliver(write_only(subject, 500, 0, pattern(64, 5)));
  CHECK(answers(subject) == Lines{"ACK psn 501 msn 2"});
  CHECK(subject.counters().rx_write_requests == 2);
  CHECK(holds(subject, 0, pattern(64, 5)));
}

TEST_CASE("selective repeat: the packets of a WRITE find their places by their PSNs") {
  Subject subject(selective());
  const Bytes all = pattern(4 * kPathMtu, 40);
  const auto part = [&](std::size_t i) {
    return Bytes(all.begin() + static_cast<std::ptrdiff_t>(i * kPathMtu),
                 all.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPathMtu));
  };
  subject.deliver(write_request(Opcode::rc_write_first, 500, Subject::kBase, subject.key(),
                                4 * kPathMtu, part(0)));
  subject.deliver(request(Opcode::rc_write_last, 503, part(3)).with_ack_request());
  CHECK(holds(subject, 3 * kPathMtu, part(3)));
  subject.deliver(request(Opcode::rc_write_middle, 502, part(2)));
  CHECK(holds(subject, 2 * kPathMtu, part(2)));
  CHECK(answers(subject) ==
        Lines{"early 503, 1 long, waiting for 501", "early 502, 1 long, waiting for 501"});
  subject.deliver(request(Opcode::rc_write_middle, 501, part(1)));
  CHECK(answers(subject) == Lines{"ACK psn 503 msn 1"});
  CHECK(holds(subject, 0, all));
}

TEST_CASE("selective repeat: a WRITE whose beginning was lost is kept until it comes") {
  Subject subject(selective());
  const Bytes first = pattern(kPathMtu, 1);
  const Bytes last = pattern(16, 99);
  const Bytes before(subject.bytes());
  subject.deliver(request(Opcode::rc_write_last, 501, last).with_ack_request());
  CHECK(subject.bytes() == before);
  CHECK(answers(subject) == Lines{"early 501, 1 long, waiting for 500"});
  subject.deliver(write_request(Opcode::rc_write_first, 500, Subject::kBase, subject.key(),
                                kPathMtu + 16, first));
  CHECK(answers(subject) == Lines{"ACK psn 501 msn 1"});
  CHECK(holds(subject, 0, first));
  CHECK(holds(subject, kPathMtu, last));
}

TEST_CASE("selective repeat: a middle packet is not taken for one of the WRITE before the gap") {
  Subject subject(selective());
  // 500 is a whole WRITE of one packet; 501 began another and was lost; 502 is of that one.
  subject.deliver(write_only(subject, 500, 0, pattern(kPathMtu, 1)));
  const Bytes before(subject.bytes());
  subject.deliver(request(Opcode::rc_write_last, 502, pattern(kPathMtu, 50)));
  CHECK(subject.bytes() == before);
}

TEST_CASE("selective repeat: SENDs before their turn complete in order") {
  Subject subject(selective());
  subject.post_receive(1, 0, 64);
  subject.post_receive(2, 100, 64);
  subject.post_receive(3, 200, 64);
  subject.deliver(send_only(502, pattern(8, 3)));
  subject.deliver(send_only(501, pattern(8, 2)));
  CHECK(subject.received().empty());
  subject.deliver(send_only(500, pattern(8, 1)));
  CHECK(describe(subject.received()) == Lines{"1 success", "2 success", "3 success"});
  CHECK(holds(subject, 0, pattern(8, 1)));
  CHECK(holds(subject, 100, pattern(8, 2)));
  CHECK(holds(subject, 200, pattern(8, 3)));
  CHECK(answers(subject).back() == "ACK psn 502 msn 3");
}

TEST_CASE("selective repeat: READs and atomics before their turn are answered in order, once") {
  Subject subject(selective().with([](auto& a) { a.max_dest_rd_atomic = 4; }));
  subject.set_word(0, 7);
  subject.deliver(fetch_add(502, Subject::kBase, subject.key(), 1));
  subject.deliver(read_request(501, Subject::kBase, subject.key(), 8));
  CHECK(subject.word(0) == 7);
  subject.transmit();
  subject.deliver(write_only(subject, 500, 512, pattern(8)));
  CHECK(answers(subject) == Lines{"RC RDMA READ response Only psn 501 msn 2 8 B",
                                  "RC ATOMIC Acknowledge psn 502 msn 3", "ACK psn 502 msn 3"});
  CHECK(subject.word(0) == 8);
  // The same again is a duplicate.
  subject.deliver(fetch_add(502, Subject::kBase, subject.key(), 1));
  CHECK(answers(subject) == Lines{"RC ATOMIC Acknowledge psn 502 msn 3"});
  CHECK(subject.word(0) == 8);
}

TEST_CASE("selective repeat: runs are told of, and one answer stands for neighbours") {
  Subject subject(selective());
  for (std::uint32_t psn = 502; psn <= 504; ++psn) {
    subject.deliver(write_only(subject, psn, psn, pattern(1)));
  }
  CHECK(answers(subject) == Lines{"early 504, 3 long, waiting for 500"});
  subject.deliver(write_only(subject, 505, 505, pattern(1)));
  CHECK(answers(subject) == Lines{"early 505, 4 long, waiting for 500"});
  subject.deliver(write_only(subject, 500, 500, pattern(1)));
  CHECK(answers(subject).empty());  // nobody asked
  subject.deliver(write_only(subject, 501, 501, pattern(1)));
  CHECK(answers(subject) == Lines{"ACK psn 505 msn 6"});
}

TEST_CASE("9.5 selective repeat: an earlier WRITE that comes late does not undo a later one") {
  Subject subject(selective());
  const Bytes late = pattern(100, 10);
  const Bytes early = pattern(20, 200);
  subject.deliver(write_only(subject, 501, 40, early));
  subject.deliver(write_only(subject, 502, 70, early));
  subject.deliver(write_only(subject, 500, 0, late));
  Bytes wanted = late;
  std::copy(early.begin(), early.end(), wanted.begin() + 40);
  std::copy(early.begin(), early.end(), wanted.begin() + 70);
  CHECK(holds(subject, 0, wanted));
}

TEST_CASE("9.5 selective repeat: nor does it by another key to the same memory") {
  Subject subject(selective());
  const nic::MemoryKeys other =
      subject.add_region(Subject::kDomain, transport::kLocalWrite | transport::kRemoteWrite);
  subject.deliver(write_request(Opcode::rc_write_only, 501, Subject::kBase + 4, other.remote, 8,
                                pattern(8, 77)));
  subject.deliver(write_only(subject, 500, 0, pattern(16, 1)));
  CHECK(holds(subject, 0, pattern(4, 1)));
  CHECK(holds(subject, 4, pattern(8, 77)));
}

TEST_CASE(
    "9.7.5.2.8 selective repeat: an early SEND that finds no receive gets its RNR NAK in turn") {
  Subject subject(selective());
  subject.deliver(send_only(501, pattern(4, 9)));
  CHECK(answers(subject) == Lines{"early 501, 1 long, waiting for 500"});
  subject.deliver(write_only(subject, 500, 0, pattern(4)));
  CHECK(answers(subject) == Lines{"RNR NAK 12 psn 501 msn 1"});
  subject.post_receive(1, 512, 4);
  subject.deliver(send_only(501, pattern(4, 9)));
  CHECK(answers(subject) == Lines{"ACK psn 501 msn 2"});
  CHECK(describe(subject.received()) == Lines{"1 success"});
  CHECK(holds(subject, 512, pattern(4, 9)));
}

TEST_CASE("9.9.3 selective repeat: what is wrong with an early request is said in its turn") {
  Subject subject(selective());
  const Bytes before(subject.bytes());
  subject.deliver(write_request(Opcode::rc_write_only, 501, Subject::kBase + Subject::kSize,
                                subject.key(), 8, pattern(8)));
  CHECK(subject.bytes() == before);
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
  CHECK(answers(subject) == Lines{"early 501, 1 long, waiting for 500"});
  subject.deliver(write_only(subject, 500, 0, pattern(4)));
  CHECK(answers(subject) == Lines{"NAK Remote Access Error psn 501 msn 1"});
  CHECK(subject.qp().state() == QueuePairState::error);
}

TEST_CASE("9.7.5.2.8 selective repeat: what is too far ahead meets a sequence NAK, once") {
  Subject subject(selective());
  subject.deliver(write_only(subject, 500 + 255, 0, pattern(4)));
  CHECK(answers(subject) == Lines{"early 755, 1 long, waiting for 500"});
  subject.deliver(write_only(subject, 500 + 256, 0, pattern(4)));
  subject.deliver(write_only(subject, 500 + 257, 0, pattern(4)));
  CHECK(answers(subject) == Lines{"NAK PSN Sequence Error psn 500 msn 0"});
}

TEST_CASE("selective repeat: across the wrap of the PSN") {
  Subject subject(selective().with([](auto& a) { a.receive_psn = wire::Psn(0xffffff); }));
  subject.deliver(write_only(subject, 1, 8, pattern(4)));
  subject.deliver(write_only(subject, 0, 4, pattern(4)));
  CHECK(answers(subject) ==
        Lines{"early 1, 1 long, waiting for 16777215", "early 0, 1 long, waiting for 16777215"});
  subject.deliver(write_only(subject, 0xffffff, 0, pattern(4)));
  CHECK(answers(subject) == Lines{"ACK psn 1 msn 3"});
}

TEST_CASE("selective repeat: without it a gap gets a sequence NAK and what follows is dropped") {
  Subject subject;
  const Bytes before(subject.bytes());
  subject.deliver(write_only(subject, 501, 0, pattern(4, 9)));
  subject.deliver(write_only(subject, 502, 0, pattern(4, 9)));
  CHECK(answers(subject) == Lines{"NAK PSN Sequence Error psn 500 msn 0"});
  CHECK(subject.bytes() == before);
}

// ---------------------------------------------------------------- requester

namespace {

struct Sender {
  explicit Sender(std::uint64_t writes, const Setup& setup = selective()) : subject(setup) {
    for (std::uint64_t id = 1; id <= writes; ++id) post(id);
    subject.transmit();
  }
  void post(std::uint64_t id) { subject.post(SendOperation::rdma_write, id, 0, 4); }
  std::vector<std::uint32_t> psns() {
    std::vector<std::uint32_t> all;
    for (const Packet& packet : subject.transmit()) all.push_back(packet.bth().psn.value());
    return all;
  }
  using Psns = std::vector<std::uint32_t>;
  Subject subject;
};

}  // namespace

TEST_CASE("selective repeat: a requester sends again what was lost, and nothing else") {
  Sender s(6);
  s.subject.deliver(selective_acknowledge(1002, 1, 1001));
  CHECK(describe(s.subject.sent()) == Lines{"1 success"});
  CHECK(s.psns() == Sender::Psns{1001});
  s.subject.deliver(selective_acknowledge(1005, 2, 1001));
  CHECK(s.psns() == Sender::Psns{1003});
  s.subject.deliver(acknowledge(1005, 6));
  CHECK(s.subject.sent().size() == 5);
  CHECK(s.subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("selective repeat: a repetition that is lost is repeated when something newer has come") {
  Sender s(4);
  s.subject.deliver(selective_acknowledge(1003, 3, 1000));
  CHECK(s.psns() == Sender::Psns{1000});
  s.subject.deliver(selective_acknowledge(1003, 3, 1000));
  CHECK(s.psns().empty());
  s.post(5);
  CHECK(s.psns() == Sender::Psns{1004});
  s.subject.deliver(selective_acknowledge(1004, 4, 1000));
  CHECK(s.psns() == Sender::Psns{1000});
}

TEST_CASE("9.9.2.1.1 selective repeat: repetitions of the oldest packet are counted") {
  Sender s(2, selective().with([](auto& a) { a.retry_count = 2; }));
  s.subject.deliver(selective_acknowledge(1001, 1, 1000));
  for (std::uint64_t id = 3; id <= 4; ++id) {
    CHECK(s.psns() == Sender::Psns{1000});
    s.post(id);
    CHECK(s.psns() == Sender::Psns{static_cast<std::uint32_t>(999 + id)});
    s.subject.deliver(selective_acknowledge(static_cast<std::uint32_t>(999 + id), 1, 1000));
  }
  CHECK(describe(s.subject.sent()).front() == "1 transport retry counter exceeded");
  CHECK(s.subject.qp().state() == QueuePairState::error);
}

TEST_CASE("selective repeat: what the peer has does not hold up the window") {
  Subject subject(Setup(selective()).with([](auto&) {}));
  for (std::uint64_t id = 1; id <= 16; ++id) {
    subject.post(SendOperation::rdma_write, id, 0, 16 * kPathMtu);
  }
  const auto sent = subject.transmit();
  REQUIRE(sent.size() == 128);
  // All but the first have come.
  for (std::uint32_t psn = 1032; psn <= 1127; psn += 32) {
    subject.deliver(selective_acknowledge(psn, 32, 1000));
  }
  subject.deliver(selective_acknowledge(1127, 32, 1000));
  const auto more = subject.transmit();
  REQUIRE_FALSE(more.empty());
  CHECK(more.front().bth().psn.value() == 1000);
  CHECK(more.size() > 64);
  // Never further ahead than the peer keeps.
  CHECK(more.back().bth().psn.value() < 1000 + 256);
}

TEST_CASE("selective repeat: after a timeout the oldest goes again, after two all of it") {
  Sender s(4);
  s.subject.deliver(selective_acknowledge(1003, 3, 1000));
  CHECK(s.psns() == Sender::Psns{1000});
  REQUIRE(s.subject.pass_deadline());
  CHECK(s.psns() == Sender::Psns{1000});
  REQUIRE(s.subject.pass_deadline());
  CHECK(s.psns() == Sender::Psns{1000, 1001, 1002, 1003});
}

TEST_CASE(
    "selective repeat: with a known round trip the last packet is asked for before the timer") {
  Sender s(1);
  s.subject.advance(std::chrono::microseconds(50));
  s.subject.deliver(acknowledge(1000, 1));
  CHECK(s.subject.qp().next_deadline() == wire::kNever);
  s.post(2);
  CHECK(s.psns() == Sender::Psns{1001});
  for (const int wait : {150, 300, 600}) {
    const wire::Instant before = s.subject.now;
    REQUIRE(s.subject.pass_deadline());
    CHECK(s.subject.now - before == std::chrono::microseconds(wait));
    CHECK(describe(s.subject.transmit()) == Lines{"RC RDMA WRITE Only psn 1001 ackreq 4 B"});
    CHECK(s.subject.counters().local_ack_timeout_err == 0);
  }
  // Three are enough; then the timer decides, and counts.
  REQUIRE(s.subject.pass_deadline());
  CHECK(s.subject.counters().local_ack_timeout_err == 1);
  CHECK(s.psns() == Sender::Psns{1001});
  s.subject.deliver(acknowledge(1001, 2));
  CHECK(s.subject.sent().size() == 2);
  CHECK(s.subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("selective repeat: no word from the peer, no probe") {
  Sender s(2);
  REQUIRE(s.subject.pass_deadline());
  CHECK(s.subject.counters().local_ack_timeout_err == 1);
}

TEST_CASE("9.7.5.1.3 selective repeat: a sequence NAK overrules what was said before") {
  Sender s(4);
  s.subject.deliver(nak(1001, NakCode::psn_sequence_error, 1));
  CHECK(s.psns() == Sender::Psns{1001, 1002, 1003});
}

TEST_CASE(
    "9.7.5.1.1 selective repeat: a READ that came early and whose answer was lost goes again") {
  for (const SendOperation operation : {SendOperation::rdma_read, SendOperation::fetch_add}) {
    Subject subject(selective());
    subject.post(SendOperation::rdma_write, 1, 0, 4);
    subject.post(operation, 2, 64, 8, [&](auto& r) { r.remote_address = Subject::kBase; });
    subject.post(SendOperation::rdma_write, 3, 0, 4);
    subject.transmit();
    // The peer has it, waits for the first, and answers both when that has come.
    subject.deliver(selective_acknowledge(1001, 1, 1000));
    CHECK(subject.transmit().size() == 1);
    subject.deliver(acknowledge(1002, 3));
    const auto again = subject.transmit();
    REQUIRE_FALSE(again.empty());
    CHECK(again.front().bth().psn.value() == 1001);
  }
}

TEST_CASE("9.7.5.1.1 selective repeat: so does the rest of a READ that was answered in part") {
  const bool by_timer = GENERATE(false, true);
  Subject subject(selective());
  subject.post(SendOperation::rdma_write, 1, 0, 4);
  subject.post(SendOperation::rdma_read, 2, 1024, 3 * kPathMtu,
               [](auto& r) { r.remote_address = Subject::kBase; });
  subject.post(SendOperation::rdma_write, 3, 0, 4);
  subject.transmit();
  subject.deliver(selective_acknowledge(1001, 1, 1000));
  subject.transmit();
  subject.deliver(read_response(Opcode::rc_read_response_first, 1001, pattern(kPathMtu), 2));
  if (by_timer) {
    REQUIRE(subject.pass_deadline());
  } else {
    subject.deliver(acknowledge(1004, 3));
  }
  const auto again = subject.transmit();
  REQUIRE_FALSE(again.empty());
  CHECK(again.front().bth().opcode == Opcode::rc_read_request);
  CHECK(again.front().bth().psn.value() == 1002);
  CHECK(again.front().headers.reth.dma_length == 2 * kPathMtu);
}

TEST_CASE("9.7.5.2.8 selective repeat: after an RNR wait only what met no receive goes again") {
  Subject subject(selective());
  for (std::uint64_t id = 1; id <= 3; ++id) subject.post(SendOperation::send, id, 0, 4);
  subject.transmit();
  subject.deliver(rnr_nak(1000, 1));
  subject.deliver(selective_acknowledge(1002, 2, 1000));
  CHECK(subject.transmit().empty());
  REQUIRE(subject.pass_deadline());
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1000 ackreq 4 B"});
  subject.deliver(acknowledge(1002, 3));
  CHECK(subject.sent().size() == 3);
}

TEST_CASE("selective repeat: nonsense of the peer's does no harm") {
  Sender s(4);
  for (std::uint32_t psn : {999u, 1000u, 1003u, 1004u, 0x900000u}) {
    for (std::uint32_t expected : {0u, 999u, 1000u, 1004u, 0xffffffu}) {
      s.subject.deliver(selective_acknowledge(psn, 32, expected));
    }
  }
  s.subject.deliver(acknowledge(1003, 0, Syndrome(0xff)));
  int waits = 0;
  while (s.subject.qp().send_queue_depth() > 0 && waits++ < 20) {
    s.subject.transmit();
    s.subject.deliver(acknowledge(1003, 4));
    if (s.subject.qp().send_queue_depth() > 0) s.subject.pass_deadline();
  }
  CHECK(s.subject.qp().send_queue_depth() == 0);
}

TEST_CASE("table 44: without selective repeat the reserved syndrome is dropped") {
  Sender s(4, Setup());
  s.subject.deliver(selective_acknowledge(1002, 1, 1001));
  CHECK(s.subject.sent().empty());
  CHECK(s.psns().empty());
  CHECK(s.subject.counters().unexpected_response == 1);
}

}  // namespace softrnic::conformance
