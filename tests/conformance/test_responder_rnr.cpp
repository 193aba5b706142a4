// SPDX-License-Identifier: BSD-3-Clause
// The RC responder without a receive to put a message in.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "conformance/connection.hpp"

namespace softrnic::conformance {

using wire::Opcode;

TEST_CASE("9.7.5.2.8 A SEND that finds no receive gets an RNR NAK with the queue pair's timer") {
  for (std::uint8_t code = 0; code < 32; ++code) {
    Subject subject(Setup().with([&](auto& a) { a.min_rnr_timer = code; }));
    subject.deliver(send_only(500, pattern(4)));
    CHECK(describe(subject.transmit()) == Lines{fmt::format("RNR NAK {} psn 500 msn 0", code)});
    CHECK(subject.qp().state() == transport::QueuePairState::ready_to_send);
  }
}

TEST_CASE("9.7.5.2.8 After an RNR NAK what follows is dropped until the request comes again") {
  Subject subject;
  subject.deliver(send_only(500, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"RNR NAK 12 psn 500 msn 0"});
  subject.deliver(send_only(501, pattern(4)));
  subject.deliver(
      write_request(Opcode::rc_write_only, 502, Subject::kBase, subject.key(), 4, pattern(4, 77))
          .with_ack_request());
  CHECK(subject.transmit().empty());
  CHECK(subject.bytes() == pattern(Subject::kSize, 3));

  subject.post_receive(1, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  CHECK(describe(subject.received()) == Lines{"1 success"});
}

TEST_CASE("9.7.5.2.8 A request that comes again too early gets an RNR NAK again") {
  Subject subject;
  subject.deliver(send_only(500, pattern(4)));
  subject.transmit();
  subject.deliver(send_only(500, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"RNR NAK 12 psn 500 msn 0"});
  CHECK(subject.counters().send_rnr_err == 2);
}

TEST_CASE("9.7.5.2.8 A WRITE with immediate needs its receive with the last packet only") {
  Subject subject;
  subject.deliver(
      write_request(Opcode::rc_write_first, 500, Subject::kBase, subject.key(), 300, pattern(256))
          .with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 0"});
  Packet last = request(Opcode::rc_write_last_immediate, 501, pattern(44)).with_ack_request();
  last.headers.immdt.data = 0xdeadbeef;
  subject.deliver(last);
  CHECK(describe(subject.transmit()) == Lines{"RNR NAK 12 psn 501 msn 0"});

  subject.post_receive(9, 4096, 0);
  subject.deliver(last);
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 1"});
  const auto done = subject.received();
  REQUIRE(describe(done) == Lines{"9 success"});
  CHECK(done[0].operation == transport::CompletionOperation::receive_rdma_with_immediate);
  CHECK(done[0].has_immediate);
  CHECK(done[0].immediate == 0xdeadbeef);
  CHECK(done[0].byte_length == 300);
}

TEST_CASE("9.7.5.2.8 WRITEs, READs and atomics need no receive") {
  Subject subject;
  subject.deliver(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, subject.key(), 4, pattern(4))
          .with_ack_request());
  subject.deliver(read_request(501, Subject::kBase, subject.key(), 4));
  subject.deliver(fetch_add(502, Subject::kBase, subject.key(), 1));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1",
                                              "RC RDMA READ response Only psn 501 msn 2 4 B",
                                              "RC ATOMIC Acknowledge psn 502 msn 3"});
}

TEST_CASE("9.7.5.2.8 The RNR timer codes mean the times of table 45") {
  using std::chrono::microseconds;
  constexpr std::int64_t kMicroseconds[32] = {
      655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
      480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
      20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
  for (std::uint8_t code = 0; code < 32; ++code) {
    CHECK(wire::rnr_timer(code) == microseconds(kMicroseconds[code]));
  }
}

namespace {

// Gives the responder a receive once it has sent that many RNR NAKs.
Connection::Judge ready_after(Connection& connection, std::size_t naks, std::uint32_t length) {
  return [&connection, naks, length, seen = std::size_t{0}](std::size_t,
                                                            const Packet& packet) mutable {
    const bool nak = packet.info().operation == wire::Operation::acknowledge &&
                     packet.headers.aeth.syndrome.kind() == wire::Syndrome::Kind::rnr_nak;
    if (nak && ++seen == naks) connection.responder().post_receive(9, 8192, length);
    return Fate::arrives;
  };
}

}  // namespace

TEST_CASE("9.7.5.2.8 RNR at the first packet of a SEND: all of it is sent again") {
  Connection connection;
  connection.post(transport::SendOperation::send, 1, 0, 2 * kPathMtu + 1, 0);
  REQUIRE(connection.run(ready_after(connection, 2, 1024)));
  const Lines once = {"> RC SEND First psn 1000 256 B", "> RC SEND Middle psn 1001 256 B",
                      "> RC SEND Last psn 1002 ackreq 1 B"};
  Lines expected;
  for (const char* answer :
       {"< RNR NAK 12 psn 1000 msn 0", "< RNR NAK 12 psn 1000 msn 0", "< ACK psn 1002 msn 1"}) {
    expected.insert(expected.end(), once.begin(), once.end());
    expected.push_back(answer);
  }
  CHECK(connection.wire() == expected);
  CHECK(describe(connection.requester().sent()) == Lines{"1 success"});
  CHECK(describe(connection.responder().received()) == Lines{"9 success"});
}

TEST_CASE("9.7.5.2.8 RNR at a later SEND: the one before it is done, the rest is sent again") {
  Connection connection;
  connection.responder().post_receive(8, 4096, 16);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    connection.post(id == 2 ? transport::SendOperation::send : transport::SendOperation::rdma_write,
                    id, 0, 4, 16384);
  }
  connection.post(transport::SendOperation::send, 4, 0, 4, 0);
  REQUIRE(connection.run(ready_after(connection, 1, 16)));
  CHECK(connection.wire() ==
        Lines{"> RC RDMA WRITE Only psn 1000 ackreq 4 B", "> RC SEND Only psn 1001 ackreq 4 B",
              "> RC RDMA WRITE Only psn 1002 ackreq 4 B", "> RC SEND Only psn 1003 ackreq 4 B",
              "< ACK psn 1002 msn 3", "< RNR NAK 12 psn 1003 msn 3",
              "> RC SEND Only psn 1003 ackreq 4 B", "< ACK psn 1003 msn 4"});
  CHECK(describe(connection.requester().sent()) ==
        Lines{"1 success", "2 success", "3 success", "4 success"});
  CHECK(describe(connection.responder().received()) == Lines{"8 success", "9 success"});
}

TEST_CASE("9.7.5.2.8 RNR at the last packet of a WRITE with immediate: that one is sent again") {
  Connection connection;
  connection.post(transport::SendOperation::rdma_write_with_immediate, 1, 0, 2 * kPathMtu, 16384);
  REQUIRE(connection.run(ready_after(connection, 1, 0)));
  CHECK(connection.wire() == Lines{"> RC RDMA WRITE First psn 1000 256 B",
                                   "> RC RDMA WRITE Last with Immediate psn 1001 ackreq 256 B",
                                   "< RNR NAK 12 psn 1001 msn 0",
                                   "> RC RDMA WRITE Last with Immediate psn 1001 ackreq 256 B",
                                   "< ACK psn 1001 msn 1"});
  CHECK(describe(connection.requester().sent()) == Lines{"1 success"});
  CHECK(describe(connection.responder().received()) == Lines{"9 success"});
}

}  // namespace softrnic::conformance
