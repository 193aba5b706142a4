// SPDX-License-Identifier: BSD-3-Clause
// End-to-end credits: how many receives a responder has posted, and a requester that goes by it
// (9.7.7.2).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"
#include "transport/shared_receive_queue.hpp"

namespace softrnic::conformance {

using transport::SendOperation;
using wire::NakCode;
using wire::Opcode;
using wire::Syndrome;

namespace {

Setup advertising() {
  return Setup().with([](auto& a) { a.advertise_credits = true; });
}

void post_receives(Subject& subject, std::uint64_t count) {
  for (std::uint64_t id = 1; id <= count; ++id) subject.post_receive(id, 0, 1024);
}

// The credit code of the one answer to a SEND.
Syndrome answer_to_send(Subject& subject, std::uint32_t psn) {
  subject.deliver(send_only(psn, pattern(4)));
  return subject.transmit_one().headers.aeth.syndrome;
}

// A subject whose peer has given `credits` with the acknowledgement of a first SEND.
struct Limited {
  explicit Limited(std::uint8_t credits, const Setup& setup = {}) : subject(setup) {
    subject.post(SendOperation::send, 100, 0, 4);
    subject.transmit();
    subject.deliver(acknowledge(1000, 1, Syndrome::ack(credits)));
    CHECK(describe(subject.sent()) == Lines{"100 success"});
  }
  void post_sends(std::uint64_t count, std::uint32_t length = 4) {
    for (std::uint64_t id = 1; id <= count; ++id) {
      subject.post(SendOperation::send, id, 0, length,
                   [](transport::SendRequest& r) { r.signaled = false; });
    }
  }
  Subject subject;
};

}  // namespace

TEST_CASE(
    "9.7.7.2.4 A responder that keeps credits tells of its receives in each acknowledgement") {
  Subject subject(advertising());
  post_receives(subject, 6);
  CHECK(answer_to_send(subject, 500) == Syndrome::ack(5 - 1));  // five: the code for four
  CHECK(answer_to_send(subject, 501) == Syndrome::ack(4));
  CHECK(answer_to_send(subject, 502) == Syndrome::ack(3));

  subject.deliver(read_request(503, Subject::kBase, subject.key(), 8));
  CHECK(subject.transmit_one().headers.aeth.syndrome == Syndrome::ack(3));
  subject.deliver(fetch_add(504, Subject::kBase, subject.key(), 1));
  CHECK(subject.transmit_one().headers.aeth.syndrome == Syndrome::ack(3));
  subject.deliver(send_only(506, pattern(4)));
  CHECK(subject.transmit_one().headers.aeth.syndrome == Syndrome::nak(NakCode::psn_sequence_error));
}

TEST_CASE("9.7.7.2.4 A message that has begun has its credit until it is complete") {
  Subject subject(advertising());
  post_receives(subject, 2);
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(kPathMtu)).with_ack_request());
  CHECK(subject.transmit_one().headers.aeth.syndrome == Syndrome::ack(2));
  subject.deliver(request(Opcode::rc_send_last, 501, pattern(4)).with_ack_request());
  CHECK(subject.transmit_one().headers.aeth.syndrome == Syndrome::ack(1));
}

TEST_CASE("9.7.7.2.4 Who said that there was no receive tells when there is one") {
  Subject subject(advertising());
  post_receives(subject, 1);
  CHECK(answer_to_send(subject, 500) == Syndrome::ack(0));
  subject.post_receive(2, 0, 64);
  const Packet update = subject.transmit_one();
  CHECK(describe(update) == "ACK psn 500 msn 1");
  CHECK(update.headers.aeth.syndrome == Syndrome::ack(1));
  subject.post_receive(3, 0, 64);
  CHECK(subject.transmit().empty());
}

TEST_CASE("9.7.7.2.1 Without credits every acknowledgement says so, and none comes unasked") {
  Subject subject;
  post_receives(subject, 1);
  CHECK(answer_to_send(subject, 500) == Syndrome::ack(Syndrome::kNoCredits));
  post_receives(subject, 3);
  CHECK(subject.transmit().empty());
}

TEST_CASE("9.7.7.2.1 Of a shared receive queue no credits are told") {
  struct Deaf final : transport::EventSink {
    void raise(transport::AsyncEvent, std::uint32_t) override {}
  } events;
  transport::SharedReceiveQueue queue({.number = 1,
                                       .domain = Subject::kDomain,
                                       .capacity = {.requests = 8, .sges = 1},
                                       .events = events});
  Setup setup = advertising();
  setup.shared_receive_queue = &queue;
  Subject subject(setup);
  const transport::Sge sge = subject.local(0, 64);
  REQUIRE_FALSE(queue.post({1, {&sge, 1}}).has_value());
  CHECK(answer_to_send(subject, 500) == Syndrome::ack(Syndrome::kNoCredits));
  CHECK(describe(subject.received()) == Lines{"1 success"});
}

TEST_CASE("9.7.7.2 A requester without word of credits sends as much as it likes") {
  Subject subject;
  for (std::uint64_t id = 1; id <= 8; ++id) subject.post(SendOperation::send, id, 0, 4);
  CHECK(subject.transmit().size() == 8);
}

TEST_CASE("9.7.7.2.5 A requester sends within its credits, and one SEND beyond that asks") {
  Limited l(2);
  l.post_sends(6);
  CHECK(describe(l.subject.transmit()) == Lines{"RC SEND Only psn 1001 4 B",
                                                "RC SEND Only psn 1002 4 B",
                                                "RC SEND Only psn 1003 ackreq 4 B"});
  // Nothing new was posted, and the one beyond found no receive: it alone is tried again.
  l.subject.deliver(rnr_nak(1003, 1, 3));
  CHECK(l.subject.transmit().empty());
  REQUIRE(l.subject.pass_deadline());
  CHECK(describe(l.subject.transmit()) == Lines{"RC SEND Only psn 1003 ackreq 4 B"});
  l.subject.deliver(acknowledge(1003, 4, Syndrome::ack(1)));
  CHECK(describe(l.subject.transmit()) ==
        Lines{"RC SEND Only psn 1004 4 B", "RC SEND Only psn 1005 ackreq 4 B"});
}

TEST_CASE("9.7.7.2.5 Beyond its credits a requester sends one packet of a SEND") {
  Limited l(0);
  l.post_sends(2, 3 * kPathMtu);
  CHECK(describe(l.subject.transmit()) == Lines{"RC SEND First psn 1001 ackreq 256 B"});
  // The receive it needs is there, even if the peer counts it as used.
  l.subject.deliver(acknowledge(1001, 1, Syndrome::ack(0)));
  CHECK(describe(l.subject.transmit()) ==
        Lines{"RC SEND Middle psn 1002 256 B", "RC SEND Last psn 1003 ackreq 256 B"});
  l.subject.deliver(acknowledge(1003, 2, Syndrome::ack(0)));
  CHECK(describe(l.subject.transmit()) == Lines{"RC SEND First psn 1004 ackreq 256 B"});
}

TEST_CASE("9.7.7.2.5 What needs no receive needs no credit") {
  Limited l(0);
  l.subject.post(SendOperation::rdma_write, 1, 0, 4);
  l.subject.post(SendOperation::rdma_read, 2, 0, 4);
  l.subject.post(SendOperation::fetch_add, 3, 0, 8);
  CHECK(l.subject.transmit().size() == 3);
}

TEST_CASE("9.7.7.2.5 A WRITE with immediate is sent whole beyond the credits, and no second one") {
  Limited l(0);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    l.subject.post(SendOperation::rdma_write_with_immediate, id, 0, 2 * kPathMtu,
                   [](transport::SendRequest& r) { r.signaled = false; });
  }
  CHECK(describe(l.subject.transmit()) ==
        Lines{"RC RDMA WRITE First psn 1001 256 B",
              "RC RDMA WRITE Last with Immediate psn 1002 ackreq 256 B"});
}

TEST_CASE("9.7.7.2.4 New credits may come with an acknowledgement said before") {
  Limited l(0);
  l.post_sends(3);
  CHECK(l.subject.transmit().size() == 1);
  l.subject.deliver(acknowledge(1000, 1, Syndrome::ack(3)));
  CHECK(describe(l.subject.transmit()) ==
        Lines{"RC SEND Only psn 1002 4 B", "RC SEND Only psn 1003 ackreq 4 B"});
  CHECK(l.subject.counters().unexpected_response == 0);
}

TEST_CASE("9.7.7.2.4 The code for no credits ends their rule") {
  Limited l(0);
  l.post_sends(4);
  CHECK(l.subject.transmit().size() == 1);
  l.subject.deliver(acknowledge(1001, 2));
  CHECK(l.subject.transmit().size() == 3);
}

TEST_CASE("9.7.7.2 A queue pair told to disregard credits does") {
  Limited l(0, Setup().with([](auto& a) { a.honor_credits = false; }));
  l.post_sends(4);
  CHECK(l.subject.transmit().size() == 4);
}

TEST_CASE("9.7.7.2.5 No count of the peer's keeps a requester still for ever") {
  // Credits that the peer takes back with every word, and an MSN from elsewhere.
  Limited l(0);
  l.post_sends(4);
  for (std::uint32_t psn = 1001; psn <= 1004; ++psn) {
    CHECK(l.subject.transmit_one().bth().psn.value() == psn);
    l.subject.deliver(acknowledge(psn, 0x800000 - psn, Syndrome::ack(0)));
  }
  CHECK(l.subject.qp().send_queue_depth() == 0);
}

TEST_CASE("9.7.7.2.5 A limit that comes late does not leave the rest without an answer") {
  Subject subject;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    subject.post(SendOperation::send, id, 0, 4,
                 [](transport::SendRequest& r) { r.signaled = false; });
  }
  CHECK(subject.transmit(6).size() == 6);
  subject.deliver(acknowledge(1000, 1, Syndrome::ack(1)));
  // Six are out and nothing asks for an answer: one more goes, and asks.
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1006 ackreq 4 B"});
}

}  // namespace softrnic::conformance
