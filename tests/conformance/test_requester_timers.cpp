// SPDX-License-Identifier: BSD-3-Clause
// The RC requester's clocks: local ACK timeout, RNR wait, and when it gives up.
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::QueuePairState;
using transport::SendOperation;
using wire::NakCode;
using wire::Opcode;

namespace {

wire::Duration ack_timeout(std::uint8_t code) {
  return std::chrono::nanoseconds(4096) * (std::int64_t{1} << code);
}

}  // namespace

TEST_CASE("9.7.6.1.3 Without an answer the request is resent after one to four timeouts") {
  for (std::uint8_t code = 1; code < 32; ++code) {
    Subject subject(Setup().with([&](auto& a) { a.timeout = code; }));
    subject.post(SendOperation::send, 1, 0, 4);
    subject.transmit();
    const wire::Duration wait = subject.qp().next_deadline() - subject.now;
    CHECK(wait >= ack_timeout(code));
    CHECK(wait <= 4 * ack_timeout(code));
    subject.advance(wait - wire::Duration(1));
    subject.qp().on_deadline(subject.now);
    CHECK(subject.transmit().empty());
    subject.advance(wire::Duration(1));
    subject.qp().on_deadline(subject.now);
    CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1000 ackreq 4 B"});
    CHECK(subject.counters().local_ack_timeout_err == 1);
  }
}

TEST_CASE("9.7.6.1.3 Timeout code 0 waits for ever") {
  Subject subject(Setup().with([](auto& a) { a.timeout = 0; }));
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("9.7.6.1.3 The timer runs only while something is outstanding") {
  Subject subject;
  CHECK(subject.qp().next_deadline() == wire::kNever);
  subject.post(SendOperation::send, 1, 0, 4);
  CHECK(subject.qp().next_deadline() == wire::kNever);  // not sent yet
  subject.transmit();
  CHECK(subject.qp().next_deadline() != wire::kNever);
  subject.deliver(acknowledge(1000, 1));
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("9.7.6.1.3 Progress starts the timer afresh") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 2 * kPathMtu);
  subject.transmit();
  const wire::Instant first = subject.qp().next_deadline();
  subject.advance(std::chrono::milliseconds(10));
  subject.deliver(acknowledge(1000, 0));
  CHECK(subject.qp().next_deadline() == first + std::chrono::milliseconds(10));
}

TEST_CASE("9.7.6.1.3 A timeout resends everything unacknowledged, oldest first") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 2 * kPathMtu);
  subject.post(SendOperation::rdma_read, 2, 1024, 8);
  subject.post(SendOperation::send, 3, 0, 4);
  subject.transmit();
  subject.deliver(acknowledge(1000, 0));
  REQUIRE(subject.pass_deadline());
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA WRITE Last psn 1001 ackreq 256 B",
                                              "RC RDMA READ Request psn 1002 ackreq",
                                              "RC SEND Only psn 1003 ackreq 4 B"});
}

TEST_CASE("9.9.2.1.1 After retry_count retries the request ends in retry exceeded") {
  for (std::uint8_t retries = 0; retries <= 7; ++retries) {
    Subject subject(Setup().with([&](auto& a) { a.retry_count = retries; }));
    subject.post(SendOperation::send, 1, 0, 4);
    subject.post(SendOperation::send, 2, 0, 4);
    subject.post_receive(9, 0, 64);
    unsigned tries = 0;
    do {
      tries += subject.transmit().empty() ? 0 : 1;
    } while (subject.pass_deadline());
    CHECK(tries == retries + 1u);
    CHECK(subject.now.time_since_epoch() >= (retries + 1) * ack_timeout(14));
    CHECK(subject.now.time_since_epoch() <= 4 * (retries + 1) * ack_timeout(14));
    CHECK(describe(subject.sent()) ==
          Lines{"1 transport retry counter exceeded", "2 Work Request Flushed Error"});
    CHECK(describe(subject.received()) == Lines{"9 Work Request Flushed Error"});
    CHECK(subject.qp().state() == QueuePairState::error);
    CHECK(subject.counters().retry_exceeded_err == 1);
  }
}

TEST_CASE("9.9.2.1.1 Sequence NAKs without progress use up retries as timeouts do") {
  Subject subject(Setup().with([](auto& a) { a.retry_count = 2; }));
  subject.post(SendOperation::send, 1, 0, 4);
  for (int i = 0; i < 3; ++i) {
    CHECK(subject.transmit().size() == 1);
    subject.deliver(nak(1000, NakCode::psn_sequence_error));
  }
  CHECK(describe(subject.sent()) == Lines{"1 transport retry counter exceeded"});
}

TEST_CASE("9.9.2.1.1 Progress gives all retries back") {
  Subject subject(Setup().with([](auto& a) { a.retry_count = 1; }));
  subject.post(SendOperation::rdma_write, 1, 0, 8 * kPathMtu);
  CHECK(subject.transmit().size() == 8);
  for (std::uint32_t i = 0; i < 7; ++i) {
    REQUIRE(subject.pass_deadline());
    CHECK(subject.transmit().size() == 8 - i);
    subject.deliver(acknowledge(1000 + i));
  }
  CHECK(subject.qp().send_queue_depth() == 1);
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
}

TEST_CASE("9.7.5.2.8 An RNR NAK makes the requester wait at least the time it names") {
  for (std::uint8_t code = 0; code < 32; ++code) {
    Subject subject;
    subject.post(SendOperation::send, 1, 0, 4);
    subject.post(SendOperation::send, 2, 0, 4);
    subject.transmit();
    subject.deliver(rnr_nak(1000, code));
    CHECK(subject.transmit().empty());
    const wire::Instant wake = subject.qp().next_deadline();
    CHECK(wake >= subject.now + wire::rnr_timer(code));
    CHECK(wake <= subject.now + 2 * wire::rnr_timer(code));
    subject.now = wake - wire::Duration(1);
    subject.qp().on_deadline(subject.now);
    CHECK(subject.transmit().empty());
    subject.now = wake;
    subject.qp().on_deadline(subject.now);
    CHECK(describe(subject.transmit()) ==
          Lines{"RC SEND Only psn 1000 ackreq 4 B", "RC SEND Only psn 1001 ackreq 4 B"});
  }
}

TEST_CASE("9.7.5.2.8 An RNR NAK acknowledges what is before it") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 4);
  subject.post(SendOperation::send, 2, 0, 4);
  subject.transmit();
  subject.deliver(rnr_nak(1001, 5, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  REQUIRE(subject.pass_deadline());
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1001 ackreq 4 B"});
}

TEST_CASE("9.7.5.2.8 During an RNR wait nothing new is sent") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  subject.deliver(rnr_nak(1000, 12));
  subject.post(SendOperation::send, 2, 0, 4);
  CHECK_FALSE(subject.qp().wants_transmit(subject.now));
  CHECK(subject.transmit().empty());
  REQUIRE(subject.pass_deadline());
  CHECK(subject.transmit().size() == 2);
}

TEST_CASE("9.7.5.2.8 After rnr_retry waits the request ends in RNR retry exceeded") {
  for (std::uint8_t retries = 0; retries < 7; ++retries) {
    Subject subject(Setup().with([&](auto& a) { a.rnr_retry = retries; }));
    subject.post(SendOperation::send, 1, 0, 4);
    subject.post(SendOperation::send, 2, 0, 4);
    unsigned tries = 0;
    while (subject.qp().state() == QueuePairState::ready_to_send) {
      REQUIRE(subject.transmit().size() == 2);
      ++tries;
      subject.deliver(rnr_nak(1000, 12));
      subject.pass_deadline();
    }
    CHECK(tries == retries + 1u);
    CHECK(describe(subject.sent()) ==
          Lines{"1 RNR retry counter exceeded", "2 Work Request Flushed Error"});
    CHECK(subject.counters().retry_rnr_exceeded_err == 1);
  }
}

TEST_CASE("9.7.5.2.8 rnr_retry 7 never gives up") {
  Subject subject(Setup().with([](auto& a) { a.rnr_retry = 7; }));
  subject.post(SendOperation::send, 1, 0, 4);
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(subject.transmit().size() == 1);
    subject.deliver(rnr_nak(1000, 1));
    REQUIRE(subject.pass_deadline());
  }
  subject.transmit();
  subject.deliver(acknowledge(1000, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
}

TEST_CASE("9.7.5.2.8 RNR waits do not use up the retries for losses") {
  Subject subject(Setup().with([](auto& a) {
    a.retry_count = 1;
    a.rnr_retry = 7;
  }));
  subject.post(SendOperation::send, 1, 0, 4);
  for (int i = 0; i < 10; ++i) {
    subject.transmit();
    subject.deliver(rnr_nak(1000, 1));
    REQUIRE(subject.pass_deadline());
  }
  subject.transmit();
  REQUIRE(subject.pass_deadline());  // one timeout
  CHECK(subject.transmit().size() == 1);
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
}

TEST_CASE("9.7.6.1.3 A READ in progress is not timed out between its responses") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 3 * kPathMtu);
  subject.transmit();
  for (const std::uint32_t i : {0u, 1u}) {
    subject.advance(ack_timeout(14) - wire::Duration(1));
    CHECK(subject.qp().next_deadline() > subject.now);
    subject.deliver(
        read_response(i == 0 ? Opcode::rc_read_response_first : Opcode::rc_read_response_middle,
                      1000 + i, pattern(256), 1));
  }
  REQUIRE(subject.pass_deadline());
  const Packet again = subject.transmit_one();
  CHECK(describe(again) == "RC RDMA READ Request psn 1002 ackreq");
  CHECK(again.headers.reth.dma_length == 256);
}

}  // namespace softrnic::conformance
