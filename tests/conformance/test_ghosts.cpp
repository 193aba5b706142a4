// SPDX-License-Identifier: BSD-3-Clause
// Packets that are not the one expected: requests of every kind from behind and from ahead, up to
// the window's edge, and what each NAK leaves of both ends (9.7.4.1.1, 9.7.5.1.5, 9.9.2, 9.9.3).
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "conformance/connection.hpp"

namespace softrnic::conformance {

using transport::QueuePairState;
using transport::SendOperation;
using wire::Opcode;

namespace {

constexpr std::uint32_t kHalf = 1u << 23;

// One request of each kind that a queue pair may be sent, whole in itself.
std::vector<Packet> every_request(const Subject& subject, std::uint32_t psn) {
  using enum Opcode;
  const std::uint64_t address = Subject::kBase + 512;
  std::vector<Packet> all;
  for (const Opcode opcode : {rc_send_first, rc_send_middle, rc_write_first, rc_write_middle}) {
    all.push_back(write_request(opcode, psn, address, subject.key(), 1024, pattern(kPathMtu, 200)));
  }
  for (const Opcode opcode :
       {rc_send_last, rc_send_last_immediate, rc_send_only, rc_send_only_immediate,
        rc_send_last_invalidate, rc_send_only_invalidate, rc_write_last, rc_write_last_immediate,
        rc_write_only, rc_write_only_immediate}) {
    all.push_back(write_request(opcode, psn, address, subject.key(), 8, pattern(8, 200)));
  }
  all.push_back(read_request(psn, address, subject.key(), 8));
  all.push_back(fetch_add(psn, address, subject.key(), 1));
  all.push_back(compare_swap(psn, address, subject.key(), subject.word(512), 1));
  all.push_back(atomic_write(psn, address, subject.key(), pattern(8, 200)));
  all.push_back(flush(psn, address, subject.key(), 8, wire::Feth::kGlobalVisibility));
  return all;
}

Setup expecting(std::uint32_t psn) {
  return Setup().with([=](auto& a) { a.receive_psn = wire::Psn(psn); });
}

// One request behind what every subject has done before: a WRITE of four bytes.
void deliver_next(Subject& subject, std::uint32_t psn) {
  subject.deliver(
      write_request(Opcode::rc_write_only, psn, Subject::kBase, subject.key(), 4, pattern(4, 250))
          .with_ack_request());
}

}  // namespace

TEST_CASE("9.7.4.1.1 A request of any kind from ahead: a NAK for the gap, and nothing is done") {
  const std::size_t kinds = every_request(Subject(), 0).size();
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    Subject subject;
    subject.post_receive(1, 0, 2048);
    const Bytes before = subject.bytes();
    const Packet packet = every_request(subject, kReceivePsn + 1)[kind];
    INFO(describe(packet));
    subject.deliver(packet);
    CHECK(describe(subject.transmit()) == Lines{"NAK PSN Sequence Error psn 500 msn 0"});
    CHECK(subject.bytes() == before);
    CHECK(subject.received().empty());
    CHECK(subject.qp().state() == QueuePairState::ready_to_send);
  }
}

TEST_CASE("9.7.5.1.5 A request of any kind from behind, never seen: no byte moves") {
  const std::size_t kinds = every_request(Subject(), 0).size();
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    Subject subject;
    subject.post_receive(1, 0, 2048);
    deliver_next(subject, kReceivePsn);
    subject.transmit();
    const Bytes before = subject.bytes();
    const Packet packet = every_request(subject, kReceivePsn - 7)[kind];
    INFO(describe(packet));
    subject.deliver(packet);
    using enum wire::Operation;
    const wire::Operation operation = packet.info().operation;
    // SENDs and WRITEs are acknowledged as far as the responder has come. READs and atomics that
    // nobody remembers are dropped; ATOMIC WRITE and FLUSH say nothing that had to be remembered.
    Lines answer;
    if (operation == send || operation == write) answer = {"ACK psn 500 msn 1"};
    if (operation == wire::Operation::atomic_write || operation == wire::Operation::flush) {
      answer = {"RC RDMA READ response Only psn 493 msn 1 0 B"};
    }
    CHECK(describe(subject.transmit()) == answer);
    CHECK(subject.bytes() == before);
    CHECK(subject.received().empty());
    CHECK(subject.qp().state() == QueuePairState::ready_to_send);
    deliver_next(subject, kReceivePsn + 1);
    CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 2"});
  }
}

TEST_CASE("9.7.4.1.1 Up to 2^23 - 1 ahead is a gap, up to 2^23 behind a duplicate") {
  for (const std::uint32_t expected : {0u, 1u, 500u, kHalf - 1, kHalf, 0xffffffu}) {
    const wire::Psn base(expected);
    for (const std::uint32_t ahead : {1u, 2u, 1000u, kHalf - 2, kHalf - 1}) {
      Subject subject(expecting(expected));
      const Bytes before = subject.bytes();
      INFO(expected << " is expected, " << ahead << " ahead of it comes");
      deliver_next(subject, (base + ahead).value());
      CHECK(describe(subject.transmit()) ==
            Lines{fmt::format("NAK PSN Sequence Error psn {} msn 0", expected)});
      CHECK(subject.bytes() == before);
      // And the one that was missing is taken.
      deliver_next(subject, expected);
      CHECK(describe(subject.transmit()) == Lines{fmt::format("ACK psn {} msn 1", expected)});
    }
    for (const std::uint32_t behind : {1u, 2u, 1000u, kHalf - 1, kHalf}) {
      Subject subject(expecting(expected));
      const Bytes before = subject.bytes();
      INFO(expected << " is expected, " << behind << " behind it comes");
      deliver_next(subject, (base - behind).value());
      CHECK(describe(subject.transmit()) ==
            Lines{fmt::format("ACK psn {} msn 0", (base - 1).value())});
      CHECK(subject.bytes() == before);
    }
  }
}

TEST_CASE("9.7.6.1 Responses to a responder that has asked for nothing are dropped") {
  Subject subject;
  const Bytes before = subject.bytes();
  for (const std::uint32_t psn : {0u, kSendPsn - 1, kSendPsn, kReceivePsn, 0xffffffu}) {
    using enum Opcode;
    subject.deliver(acknowledge(psn, 1));
    subject.deliver(rnr_nak(psn, 3));
    for (const unsigned code : {0u, 1u, 2u, 3u, 4u}) {
      subject.deliver(nak(psn, static_cast<wire::NakCode>(code)));
    }
    for (const Opcode opcode : {rc_read_response_first, rc_read_response_middle,
                                rc_read_response_last, rc_read_response_only}) {
      subject.deliver(read_response(opcode, psn, pattern(kPathMtu, 200), 1));
    }
    subject.deliver(atomic_response(psn, 7, 1));
  }
  CHECK(subject.transmit().empty());
  CHECK(subject.bytes() == before);
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
  deliver_next(subject, kReceivePsn);
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
}

TEST_CASE("9.9.2 A sequence NAK and an RNR NAK leave both ends connected") {
  Connection gap;
  gap.post(SendOperation::rdma_write, 1, 0, 2 * kPathMtu, 0);
  REQUIRE(
      gap.run([](std::size_t i, const Packet&) { return i == 0 ? Fate::is_lost : Fate::arrives; }));
  CHECK(describe(gap.requester().sent()) == Lines{"1 success"});
  CHECK(gap.requester().counters().packet_seq_err == 1);

  Connection unready;
  unready.post(SendOperation::send, 1, 0, 4, 0);
  std::size_t naks = 0;
  REQUIRE(unready.run([&](std::size_t, const Packet& packet) {
    if (packet.info().operation == wire::Operation::acknowledge && ++naks == 2) {
      unready.responder().post_receive(9, 0, 64);
    }
    return Fate::arrives;
  }));
  CHECK(unready.wire() == Lines{"> RC SEND Only psn 1000 ackreq 4 B", "< RNR NAK 12 psn 1000 msn 0",
                                "> RC SEND Only psn 1000 ackreq 4 B", "< RNR NAK 12 psn 1000 msn 0",
                                "> RC SEND Only psn 1000 ackreq 4 B", "< ACK psn 1000 msn 1"});
  CHECK(describe(unready.requester().sent()) == Lines{"1 success"});
  for (Connection* connection : {&gap, &unready}) {
    CHECK(connection->requester().qp().state() == QueuePairState::ready_to_send);
    CHECK(connection->responder().qp().state() == QueuePairState::ready_to_send);
  }
}

TEST_CASE("9.9.3 Every other NAK ends the connection at both ends") {
  struct Ending {
    const char* nak;
    const char* status;
    std::function<void(Connection&)> cause;
  };
  const Ending endings[] = {
      {"Invalid Request", "1 remote invalid request error",
       [](Connection& c) { c.post(SendOperation::fetch_add, 1, 0, 8, 3); }},
      {"Remote Access Error", "1 remote access error",
       [](Connection& c) {
         c.post(SendOperation::rdma_write, 1, 0, 8, 0,
                [](transport::SendRequest& r) { r.remote_key ^= 0x100; });
       }},
      {"Remote Operational Error", "1 remote operation error",
       [](Connection& c) {
         const auto region = c.responder().add_region(Subject::kDomain, transport::kRemoteRead);
         const transport::Sge sge{Subject::kBase, 64, region.local};
         REQUIRE_FALSE(c.responder().qp().post_receive({9, {&sge, 1}}).has_value());
         c.post(SendOperation::send, 1, 0, 8, 0);
       }},
  };
  for (const Ending& ending : endings) {
    INFO(ending.nak);
    Connection connection;
    ending.cause(connection);
    connection.post(SendOperation::rdma_write, 2, 0, 8, 0);
    REQUIRE(connection.run());
    CHECK(connection.wire().size() == 3);
    CHECK(connection.wire().back() == fmt::format("< NAK {} psn 1000 msn 0", ending.nak));
    CHECK(describe(connection.requester().sent()) ==
          Lines{ending.status, "2 Work Request Flushed Error"});
    CHECK(connection.requester().qp().state() == QueuePairState::error);
    CHECK(connection.responder().qp().state() == QueuePairState::error);
    CHECK(connection.requester().qp().next_deadline() == wire::kNever);
  }
}

}  // namespace softrnic::conformance
