// SPDX-License-Identifier: BSD-3-Clause
// Queue pair states, and what each takes and does (10.3.1).
#include <array>
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"
#include "transport/shared_receive_queue.hpp"

namespace softrnic::conformance {

using transport::PostError;
using transport::QueuePairState;
using transport::SendOperation;
using wire::Opcode;

namespace {

Setup in_state(QueuePairState state) {
  Setup setup;
  setup.state = state;
  return setup;
}

std::optional<PostError> try_send(Subject& subject) {
  transport::SendRequest request;
  return subject.qp().post_send(request);
}

}  // namespace

TEST_CASE("10.3.1.1 RESET takes no requests and answers nothing") {
  Subject subject(in_state(QueuePairState::reset));
  CHECK(subject.qp().state() == QueuePairState::reset);
  CHECK(try_send(subject) == PostError::bad_state);
  CHECK(subject.qp().post_receive({}) == PostError::bad_state);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(subject.transmit().empty());
}

TEST_CASE("10.3.1.2 INIT takes receives, no sends, and drops packets") {
  Subject subject(in_state(QueuePairState::init));
  CHECK(try_send(subject) == PostError::bad_state);
  subject.post_receive(1, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(subject.transmit().empty());
  CHECK(subject.received().empty());
  CHECK(subject.counters().bad_qp_state == 1);
}

TEST_CASE("10.3.1.3 RTR answers requests, and sends none of its own") {
  Subject subject(in_state(QueuePairState::ready_to_receive));
  CHECK(try_send(subject) == PostError::bad_state);
  subject.post_receive(1, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  CHECK(describe(subject.received()) == Lines{"1 success"});
}

TEST_CASE("10.3.1.7 ERR flushes what is posted, in order, and whatever is posted later") {
  Subject subject;
  for (std::uint64_t id = 1; id <= 3; ++id) subject.post(SendOperation::send, id, 0, 4);
  for (std::uint64_t id = 11; id <= 13; ++id) subject.post_receive(id, 0, 64);
  subject.transmit();
  REQUIRE_FALSE(subject.qp().modify(QueuePairState::error, {}).has_value());
  CHECK(describe(subject.sent()) == Lines{"1 Work Request Flushed Error",
                                          "2 Work Request Flushed Error",
                                          "3 Work Request Flushed Error"});
  CHECK(describe(subject.received()) == Lines{"11 Work Request Flushed Error",
                                              "12 Work Request Flushed Error",
                                              "13 Work Request Flushed Error"});
  CHECK(subject.qp().next_deadline() == wire::kNever);
  CHECK(subject.transmit().empty());

  subject.post(SendOperation::send, 4, 0, 4);
  subject.post_receive(14, 0, 64);
  CHECK(describe(subject.sent()) == Lines{"4 Work Request Flushed Error"});
  CHECK(describe(subject.received()) == Lines{"14 Work Request Flushed Error"});
}

TEST_CASE("10.3.1.7 In ERR requests are dropped in silence") {
  Subject subject;
  REQUIRE_FALSE(subject.qp().modify(QueuePairState::error, {}).has_value());
  const Bytes before = subject.bytes();
  subject.deliver(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, subject.key(), 4, pattern(4, 99))
          .with_ack_request());
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 4));
  subject.deliver(acknowledge(1000));
  CHECK(subject.transmit().empty());
  CHECK(subject.bytes() == before);
}

TEST_CASE("10.3.1.7 A user who moves to ERR what is in ERR leaves the NAK that says why") {
  Subject subject;
  subject.deliver(request(Opcode::rc_send_middle, 500, pattern(256)));
  REQUIRE(subject.qp().state() == QueuePairState::error);
  REQUIRE_FALSE(subject.qp().modify(QueuePairState::error, {}).has_value());
  CHECK(describe(subject.transmit()) == Lines{"NAK Invalid Request psn 500 msn 0"});
}

TEST_CASE("10.3.1.7 A receive that a message had begun to fill is flushed too") {
  Subject subject;
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  REQUIRE_FALSE(subject.qp().modify(QueuePairState::error, {}).has_value());
  CHECK(describe(subject.received()) == Lines{"1 Work Request Flushed Error"});
}

TEST_CASE("10.3.1.1 RESET empties the queues without completions, and all begins anew") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.post_receive(2, 0, 64);
  subject.transmit();
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 600));
  REQUIRE_FALSE(subject.qp().modify(QueuePairState::reset, {}).has_value());
  CHECK(subject.sent().empty());
  CHECK(subject.received().empty());
  CHECK(subject.qp().send_queue_depth() == 0);
  CHECK(subject.qp().receive_queue_depth() == 0);
  CHECK(subject.qp().next_deadline() == wire::kNever);

  const Setup again;
  for (const QueuePairState to :
       {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    REQUIRE_FALSE(subject.qp().modify(to, again.attributes).has_value());
  }
  CHECK(subject.transmit().empty());  // nothing of the old life is still to be answered
  subject.post(SendOperation::rdma_write, 3, 0, 4);
  subject.post_receive(4, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(describe(subject.transmit()) ==
        Lines{"ACK psn 500 msn 1", "RC RDMA WRITE Only psn 1000 ackreq 4 B"});
  subject.deliver(acknowledge(1000, 1));
  CHECK(describe(subject.sent()) == Lines{"3 success"});
  CHECK(describe(subject.received()) == Lines{"4 success"});
}

TEST_CASE("10.3.1 Only the standard's transitions are made") {
  using enum QueuePairState;
  struct Step {
    QueuePairState from;
    QueuePairState to;
  };
  for (const Step step : {Step{reset, ready_to_receive}, Step{reset, ready_to_send},
                          Step{init, ready_to_send}, Step{ready_to_receive, init},
                          Step{ready_to_send, init}, Step{ready_to_send, ready_to_receive}}) {
    Subject subject(in_state(step.from));
    const Setup setup;
    CHECK(subject.qp().modify(step.to, setup.attributes) ==
          transport::ModifyError::illegal_transition);
    CHECK(subject.qp().state() == step.from);
  }
  Subject failed;
  const Setup setup;
  REQUIRE_FALSE(failed.qp().modify(error, {}).has_value());
  for (const QueuePairState to : {init, ready_to_receive, ready_to_send}) {
    CHECK(failed.qp().modify(to, setup.attributes) == transport::ModifyError::illegal_transition);
  }
}

TEST_CASE("11.2.5 Attributes out of their range are refused, and nothing changes") {
  const auto refused = [](const std::function<void(transport::QueuePairAttributes&)>& edit) {
    Subject subject(in_state(QueuePairState::init));
    Setup setup;
    edit(setup.attributes);
    const auto error = subject.qp().modify(QueuePairState::ready_to_receive, setup.attributes);
    return error == transport::ModifyError::bad_attribute &&
           subject.qp().state() == QueuePairState::init;
  };
  CHECK(refused([](auto& a) { a.path_mtu = 0; }));
  CHECK(refused([](auto& a) { a.path_mtu = 1000; }));
  CHECK(refused([](auto& a) { a.path_mtu = 8192; }));
  CHECK(refused([](auto& a) { a.destination_qpn = 0x1000000; }));
  CHECK(refused([](auto& a) { a.max_dest_rd_atomic = 129; }));
  CHECK(refused([](auto& a) { a.min_rnr_timer = 32; }));
  CHECK(refused([](auto& a) { a.timeout = 32; }));
  CHECK(refused([](auto& a) { a.retry_count = 8; }));
  CHECK(refused([](auto& a) { a.rnr_retry = 8; }));
}

TEST_CASE("10.10.3 A completion queue without room fails the queue pair") {
  Setup setup;
  setup.completions = 1;
  Subject subject(setup);
  subject.post(SendOperation::send, 1, 0, 4);
  subject.post(SendOperation::send, 2, 0, 4);
  subject.transmit();
  subject.deliver(acknowledge(1001, 2));
  CHECK(subject.qp().state() == QueuePairState::error);
  CHECK(describe(subject.sent()) == Lines{"1 success"});
}

TEST_CASE("10.8 A queue takes as many requests as it was made for") {
  Setup setup;
  setup.capacity.send_requests = 3;
  setup.capacity.receive_requests = 2;
  Subject subject(setup);
  for (std::uint64_t id = 0; id < 3; ++id) subject.post(SendOperation::send, id, 0, 4);
  CHECK(try_send(subject) == PostError::queue_full);
  for (std::uint64_t id = 0; id < 2; ++id) subject.post_receive(id, 0, 64);
  CHECK(subject.qp().post_receive({}) == PostError::queue_full);
  subject.transmit();
  subject.deliver(acknowledge(1000, 1));
  CHECK_FALSE(try_send(subject).has_value());
}

// ---------------------------------------------------------------- SQD

namespace {

// RTS -> SQD, asking for the event.
void drain(Subject& subject) {
  transport::QueuePairAttributes attributes;
  attributes.drained_event = true;
  REQUIRE(subject.qp().modify(QueuePairState::send_queue_drain, attributes,
                              transport::attribute::drained_event) == std::nullopt);
  REQUIRE(subject.qp().state() == QueuePairState::send_queue_drain);
}

void resume(Subject& subject) {
  REQUIRE(subject.qp().modify(QueuePairState::ready_to_send, {}, 0) == std::nullopt);
}

// Changes what `edit` says of the subject's attributes, in SQD.
std::optional<transport::ModifyError> change_in_sqd(
    Subject& subject, transport::AttributeMask named,
    const std::function<void(transport::QueuePairAttributes&)>& edit) {
  transport::QueuePairAttributes attributes = subject.qp().attributes();
  edit(attributes);
  return subject.qp().modify(QueuePairState::send_queue_drain, attributes, named);
}

void unsignaled(transport::SendRequest& request) {
  request.signaled = false;
}

}  // namespace

TEST_CASE("10.3.1.5 SQD finishes the message that has begun, and begins no other") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 700);
  subject.post(SendOperation::rdma_write, 2, 0, 4);
  CHECK(describe(subject.transmit(1)) == Lines{"RC RDMA WRITE First psn 1000 256 B"});
  drain(subject);
  CHECK(subject.qp().draining());
  CHECK(describe(subject.transmit()) ==
        Lines{"RC RDMA WRITE Middle psn 1001 256 B", "RC RDMA WRITE Last psn 1002 ackreq 188 B"});
  subject.post(SendOperation::send, 3, 0, 4);  // taken, and left where it is
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().draining());
  CHECK(subject.events().empty());

  subject.deliver(acknowledge(1002, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  CHECK_FALSE(subject.qp().draining());
  CHECK(subject.qp().state() == QueuePairState::send_queue_drain);
  CHECK(subject.events() == Lines{"send queue drained"});
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().next_deadline() == wire::kNever);
  CHECK(subject.qp().send_queue_depth() == 2);

  resume(subject);
  CHECK(describe(subject.transmit()) ==
        Lines{"RC RDMA WRITE Only psn 1003 ackreq 4 B", "RC SEND Only psn 1004 ackreq 4 B"});
  subject.deliver(acknowledge(1004, 3));
  CHECK(describe(subject.sent()) == Lines{"2 success", "3 success"});
  CHECK(subject.events().empty());
}

TEST_CASE("10.3.1.5 A send queue at rest has drained as soon as SQD is entered") {
  for (const bool wanted : {true, false}) {
    Subject subject;
    transport::QueuePairAttributes attributes;
    attributes.drained_event = wanted;
    REQUIRE(subject.qp().modify(QueuePairState::send_queue_drain, attributes,
                                transport::attribute::drained_event) == std::nullopt);
    CHECK_FALSE(subject.qp().draining());
    CHECK(subject.events() == (wanted ? Lines{"send queue drained"} : Lines{}));
    // Once: to change an attribute in SQD is not to enter it.
    CHECK(change_in_sqd(subject, 0, [](auto&) {}) == std::nullopt);
    CHECK(subject.events().empty());
    resume(subject);
    CHECK(subject.events().empty());
  }
}

TEST_CASE("10.3.1.5 Requests posted and not begun stay, though nothing is in flight") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  drain(subject);
  CHECK_FALSE(subject.qp().draining());
  CHECK(subject.events() == Lines{"send queue drained"});
  CHECK(subject.transmit().empty());
  resume(subject);
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1000 ackreq 4 B"});
}

TEST_CASE("10.3.1.5 SQD asks for the acknowledgement that a later message would have asked for") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 300, unsignaled);
  subject.post(SendOperation::rdma_write, 2, 0, 4);
  CHECK(describe(subject.transmit(2)) ==
        Lines{"RC RDMA WRITE First psn 1000 256 B", "RC RDMA WRITE Last psn 1001 44 B"});
  drain(subject);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA WRITE Last psn 1001 ackreq 44 B"});
  CHECK(subject.qp().draining());
  subject.deliver(acknowledge(1001, 1));
  CHECK(subject.sent().empty());
  CHECK(subject.events() == Lines{"send queue drained"});
  resume(subject);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA WRITE Only psn 1002 ackreq 4 B"});
}

TEST_CASE("10.3.1.5 SQD waits for a READ's whole response and for an atomic's") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 600);
  subject.post(SendOperation::fetch_add, 2, 1024, 8);
  subject.post(SendOperation::rdma_read, 3, 0, 4);
  CHECK(describe(subject.transmit(2)) ==
        Lines{"RC RDMA READ Request psn 1000 ackreq", "RC FetchAdd psn 1003 ackreq"});
  drain(subject);
  subject.deliver(read_response(Opcode::rc_read_response_first, 1000, pattern(256), 1));
  subject.deliver(read_response(Opcode::rc_read_response_middle, 1001, pattern(256), 1));
  subject.deliver(read_response(Opcode::rc_read_response_last, 1002, pattern(88), 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  CHECK(subject.qp().draining());
  CHECK(subject.events().empty());
  subject.deliver(atomic_response(1003, 7, 2));
  CHECK(describe(subject.sent()) == Lines{"2 success"});
  CHECK(subject.events() == Lines{"send queue drained"});
  CHECK(subject.transmit().empty());
}

TEST_CASE("10.3.1.5 What was begun is sent again in SQD, and nothing else") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 300);
  subject.post(SendOperation::send, 2, 0, 4);
  CHECK(describe(subject.transmit(1)) == Lines{"RC SEND First psn 1000 256 B"});
  drain(subject);
  const Lines message{"RC SEND First psn 1000 256 B", "RC SEND Last psn 1001 ackreq 44 B"};
  CHECK(describe(subject.transmit()) == Lines{message[1]});
  SECTION("after a sequence NAK") {
    subject.deliver(nak(1000, wire::NakCode::psn_sequence_error));
    CHECK(describe(subject.transmit()) == message);
  }
  SECTION("after a timeout") {
    REQUIRE(subject.pass_deadline());
    CHECK(describe(subject.transmit()) == message);
  }
  SECTION("after an RNR NAK and its wait") {
    subject.deliver(rnr_nak(1000, 1));
    CHECK(subject.transmit().empty());
    CHECK(subject.qp().draining());
    REQUIRE(subject.pass_deadline());
    CHECK(describe(subject.transmit()) == message);
  }
  CHECK(subject.events().empty());
  subject.deliver(acknowledge(1001, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  CHECK(subject.events() == Lines{"send queue drained"});
}

TEST_CASE("10.3.1.5 SQD cannot be changed or left for RTS before the send queue has drained") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  drain(subject);
  CHECK(subject.qp().modify(QueuePairState::ready_to_send, {}, 0) ==
        transport::ModifyError::still_draining);
  CHECK(change_in_sqd(subject, transport::attribute::timeout, [](auto& a) { a.timeout = 1; }) ==
        transport::ModifyError::still_draining);
  CHECK(subject.qp().attributes().timeout == Setup().attributes.timeout);
  CHECK(subject.qp().state() == QueuePairState::send_queue_drain);
  subject.deliver(acknowledge(1000, 1));
  CHECK(change_in_sqd(subject, transport::attribute::timeout, [](auto& a) { a.timeout = 1; }) ==
        std::nullopt);
  CHECK(subject.qp().attributes().timeout == 1);
  resume(subject);
}

TEST_CASE("10.3.1.5 SQD can be left for ERR and RESET at any time") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  subject.post(SendOperation::send, 2, 0, 4);
  subject.post_receive(11, 0, 64);
  drain(subject);
  SECTION("to ERR") {
    REQUIRE(subject.qp().modify(QueuePairState::error, {}) == std::nullopt);
    CHECK(describe(subject.sent()) ==
          Lines{"1 Work Request Flushed Error", "2 Work Request Flushed Error"});
    CHECK(describe(subject.received()) == Lines{"11 Work Request Flushed Error"});
  }
  SECTION("to RESET") {
    REQUIRE(subject.qp().modify(QueuePairState::reset, {}) == std::nullopt);
    CHECK(subject.sent().empty());
    CHECK(subject.received().empty());
  }
  CHECK_FALSE(subject.qp().draining());
  CHECK(subject.events().empty());  // it was not drained
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("10.3.1.5 A request that fails while draining ends in ERR and not in drained") {
  Setup setup;
  setup.attributes.retry_count = 0;
  Subject subject(setup);
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  subject.post(SendOperation::send, 2, 0, 4);
  drain(subject);
  REQUIRE(subject.pass_deadline());
  CHECK(subject.qp().state() == QueuePairState::error);
  CHECK_FALSE(subject.qp().draining());
  CHECK(describe(subject.sent()) ==
        Lines{"1 transport retry counter exceeded", "2 Work Request Flushed Error"});
  CHECK(subject.events().empty());
}

TEST_CASE("10.3.1.5 In SQD the receive queue works as ever") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  drain(subject);
  subject.post_receive(11, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  subject.deliver(read_request(501, Subject::kBase, subject.key(), 4));
  subject.deliver(send_only(502, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1",
                                              "RC RDMA READ response Only psn 501 msn 2 4 B",
                                              "RNR NAK 12 psn 502 msn 2"});
  CHECK(describe(subject.received()) == Lines{"11 success"});
  CHECK(subject.qp().draining());
}

TEST_CASE("10.3.1.5 What is changed in SQD holds from then on") {
  SECTION("the local ACK timeout") {
    Subject subject;
    drain(subject);
    CHECK(change_in_sqd(subject, transport::attribute::timeout, [](auto& a) { a.timeout = 0; }) ==
          std::nullopt);
    resume(subject);
    subject.post(SendOperation::send, 1, 0, 4);
    subject.transmit();
    CHECK(subject.qp().next_deadline() == wire::kNever);
  }
  SECTION("the retry count") {
    Subject subject;
    drain(subject);
    CHECK(change_in_sqd(subject, transport::attribute::retry_count,
                        [](auto& a) { a.retry_count = 1; }) == std::nullopt);
    resume(subject);
    subject.post(SendOperation::send, 1, 0, 4);
    subject.transmit();
    REQUIRE(subject.pass_deadline());
    CHECK(subject.transmit().size() == 1);
    REQUIRE(subject.pass_deadline());
    CHECK(describe(subject.sent()) == Lines{"1 transport retry counter exceeded"});
  }
  SECTION("the RNR retry count") {
    Subject subject;
    drain(subject);
    CHECK(change_in_sqd(subject, transport::attribute::rnr_retry,
                        [](auto& a) { a.rnr_retry = 0; }) == std::nullopt);
    resume(subject);
    subject.post(SendOperation::send, 1, 0, 4);
    subject.transmit();
    subject.deliver(rnr_nak(1000, 1));
    CHECK(describe(subject.sent()) == Lines{"1 RNR retry counter exceeded"});
  }
  SECTION("the READs that may be outstanding") {
    Subject subject(Setup().with([](auto& a) { a.max_rd_atomic = 1; }));
    subject.post(SendOperation::rdma_read, 1, 0, 4);
    subject.post(SendOperation::rdma_read, 2, 0, 4);
    subject.post(SendOperation::rdma_read, 3, 0, 4);
    CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1000 ackreq"});
    drain(subject);
    subject.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(4), 1));
    CHECK(change_in_sqd(subject, transport::attribute::max_rd_atomic,
                        [](auto& a) { a.max_rd_atomic = 2; }) == std::nullopt);
    resume(subject);
    CHECK(describe(subject.transmit()) ==
          Lines{"RC RDMA READ Request psn 1001 ackreq", "RC RDMA READ Request psn 1002 ackreq"});
  }
  SECTION("the READs and atomics that a peer may have outstanding, and what is kept of them") {
    Subject subject(Setup().with([](auto& a) { a.max_dest_rd_atomic = 1; }));
    subject.set_word(0, 100);
    subject.deliver(fetch_add(500, Subject::kBase, subject.key(), 1));
    CHECK(subject.transmit().size() == 1);
    drain(subject);
    CHECK(change_in_sqd(subject, transport::attribute::max_dest_rd_atomic,
                        [](auto& a) { a.max_dest_rd_atomic = 3; }) == std::nullopt);
    resume(subject);
    subject.deliver(fetch_add(501, Subject::kBase, subject.key(), 1));
    subject.deliver(fetch_add(502, Subject::kBase, subject.key(), 1));
    CHECK(describe(subject.transmit()) ==
          Lines{"RC ATOMIC Acknowledge psn 501 msn 2", "RC ATOMIC Acknowledge psn 502 msn 3"});
    for (std::uint32_t i = 0; i < 3; ++i) {
      subject.deliver(fetch_add(500 + i, Subject::kBase, subject.key(), 1));
      const Packet again = subject.transmit_one();
      CHECK(again.bth().psn.value() == 500 + i);
      CHECK(again.headers.atomic_ack_eth.original == 100 + i);
    }
    CHECK(subject.word(0) == 103);
  }
  SECTION("fewer of them") {
    Subject subject(Setup().with([](auto& a) { a.max_dest_rd_atomic = 3; }));
    for (std::uint32_t i = 0; i < 3; ++i) {
      subject.deliver(fetch_add(500 + i, Subject::kBase, subject.key(), 1));
    }
    CHECK(subject.transmit().size() == 3);
    drain(subject);
    CHECK(change_in_sqd(subject, transport::attribute::max_dest_rd_atomic,
                        [](auto& a) { a.max_dest_rd_atomic = 1; }) == std::nullopt);
    subject.deliver(fetch_add(500, Subject::kBase, subject.key(), 1));  // no longer kept
    subject.deliver(fetch_add(502, Subject::kBase, subject.key(), 1));
    CHECK(describe(subject.transmit()) == Lines{"RC ATOMIC Acknowledge psn 502 msn 3"});
    subject.deliver(read_request(503, Subject::kBase, subject.key(), 4));
    subject.deliver(read_request(504, Subject::kBase, subject.key(), 4));
    CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 503 msn 4 4 B",
                                                "NAK Invalid Request psn 504 msn 4"});
  }
  SECTION("the RNR timer, the rights of peers and the partition") {
    Subject subject;
    drain(subject);
    using namespace transport::attribute;
    CHECK(change_in_sqd(subject, min_rnr_timer | remote_access | partition_key, [](auto& a) {
            a.min_rnr_timer = 30;
            a.remote_access = 0;
            a.partition_key = 0x8001;
          }) == std::nullopt);
    subject.deliver(send_only(500, pattern(4)));
    const Packet answer = subject.transmit_one();
    CHECK(describe(answer) == "RNR NAK 30 psn 500 msn 0");
    CHECK(answer.bth().partition_key == 0x8001);
    subject.deliver(read_request(500, Subject::kBase, subject.key(), 4));
    CHECK(describe(subject.transmit()) == Lines{"NAK Invalid Request psn 500 msn 0"});
  }
}

TEST_CASE("10.3.1.5 A request that only changes keys waits for RTS like any other") {
  Subject subject;
  drain(subject);
  subject.post(SendOperation::local_invalidate, 1, 0, 0,
               [](transport::SendRequest& request) { request.invalidate_key = 0x12345678; });
  CHECK(subject.transmit().empty());
  CHECK(subject.sent().empty());
  resume(subject);
  CHECK(subject.transmit().empty());
  CHECK(describe(subject.sent()) == Lines{"1 memory management operation error"});
}

TEST_CASE("10.3.1.5 UC and UD have drained when the last packet of the message has left") {
  Setup setup;
  setup.service = wire::Service::unreliable_connection;
  Subject subject(setup);
  subject.post(SendOperation::rdma_write, 1, 0, 700);
  subject.post(SendOperation::rdma_write, 2, 0, 4);
  CHECK(describe(subject.transmit(1)) == Lines{"UC RDMA WRITE First psn 1000 256 B"});
  drain(subject);
  CHECK(subject.qp().draining());
  CHECK(describe(subject.transmit(1)) == Lines{"UC RDMA WRITE Middle psn 1001 256 B"});
  CHECK(subject.events().empty());
  CHECK(describe(subject.transmit()) == Lines{"UC RDMA WRITE Last psn 1002 188 B"});
  CHECK(subject.events() == Lines{"send queue drained"});
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  resume(subject);
  CHECK(describe(subject.transmit()) == Lines{"UC RDMA WRITE Only psn 1003 4 B"});

  setup.service = wire::Service::unreliable_datagram;
  Subject datagrams(setup);
  const auto to_peer = [](transport::SendRequest& request) { request.address_handle = 1; };
  datagrams.post(SendOperation::send, 1, 0, 4, to_peer);
  datagrams.post(SendOperation::send, 2, 0, 4, to_peer);
  CHECK(datagrams.transmit(1).size() == 1);
  drain(datagrams);
  CHECK(datagrams.events() == Lines{"send queue drained"});
  CHECK(datagrams.transmit().empty());
  resume(datagrams);
  CHECK(describe(datagrams.transmit()) == Lines{"UD SEND only psn 1001 4 B"});
}

// ---------------------------------------------------------------- SQE

namespace {

// An unreliable subject with a good request, one whose list names no region, and another good one.
void fail_second_send(Subject& subject) {
  const auto to_peer = [](transport::SendRequest& request) { request.address_handle = 1; };
  subject.post(SendOperation::send, 1, 0, 4, to_peer);
  subject.post(SendOperation::send, 2, 0, 4, [&](transport::SendRequest& request) {
    to_peer(request);
    static const transport::Sge kNowhere{0, 4, 0};
    request.sges = {&kNowhere, 1};
  });
  subject.post(SendOperation::send, 3, 0, 4, to_peer);
}

}  // namespace

TEST_CASE("10.3.1.6 An error in a UC or UD send queue leads to SQE; the receive queue goes on") {
  for (const wire::Service service :
       {wire::Service::unreliable_connection, wire::Service::unreliable_datagram}) {
    const bool datagram = service == wire::Service::unreliable_datagram;
    const std::string name = datagram ? "UD SEND only" : "UC SEND Only";
    Setup setup;
    setup.service = service;
    Subject subject(setup);
    fail_second_send(subject);
    CHECK(describe(subject.transmit()) == Lines{name + " psn 1000 4 B"});
    CHECK(subject.qp().state() == QueuePairState::send_queue_error);
    CHECK(describe(subject.sent()) ==
          Lines{"1 success", "2 local protection error", "3 Work Request Flushed Error"});
    CHECK(subject.events().empty());  // the completion has told

    subject.post(SendOperation::send, 4, 0, 4,
                 [](transport::SendRequest& request) { request.address_handle = 1; });
    CHECK(describe(subject.sent()) == Lines{"4 Work Request Flushed Error"});
    CHECK(subject.transmit().empty());

    subject.post_receive(11, 0, 64);
    Packet packet =
        request(datagram ? Opcode::ud_send_only : Opcode::uc_send_only, 500, pattern(4));
    packet.headers.deth.queue_key = setup.attributes.queue_key;
    subject.deliver(packet);
    CHECK(describe(subject.received()) == Lines{"11 success"});

    transport::QueuePairAttributes attributes;
    attributes.current_state = QueuePairState::send_queue_error;
    REQUIRE(subject.qp().modify(QueuePairState::ready_to_send, attributes,
                                transport::attribute::current_state) == std::nullopt);
    subject.post(SendOperation::send, 5, 0, 4,
                 [](transport::SendRequest& request) { request.address_handle = 1; });
    CHECK(describe(subject.transmit()) == Lines{name + " psn 1001 4 B"});
    CHECK(describe(subject.sent()) == Lines{"5 success"});
  }
}

TEST_CASE("10.3.1.6 A UC message broken off leaves its PSNs used") {
  Setup setup;
  setup.service = wire::Service::unreliable_connection;
  Subject subject(setup);
  const nic::MemoryKeys passing =
      subject.add_region(Subject::kDomain, transport::kLocalWrite, Subject::kSize);
  subject.post(SendOperation::rdma_write, 1, 0, 700, [&](transport::SendRequest& request) {
    static transport::Sge list;
    list = {Subject::kBase, 700, passing.local};
    request.sges = {&list, 1};
  });
  CHECK(describe(subject.transmit(1)) == Lines{"UC RDMA WRITE First psn 1000 256 B"});
  REQUIRE(subject.memory().remove(passing.local));
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().state() == QueuePairState::send_queue_error);
  CHECK(describe(subject.sent()) == Lines{"1 local protection error"});
  resume(subject);
  subject.post(SendOperation::rdma_write, 2, 0, 4);
  CHECK(describe(subject.transmit()) == Lines{"UC RDMA WRITE Only psn 1001 4 B"});
}

TEST_CASE("10.3.1.6 SQE can also be left for ERR, which flushes the receives, and for RESET") {
  Setup setup;
  setup.service = wire::Service::unreliable_connection;
  Subject subject(setup);
  fail_second_send(subject);
  subject.post_receive(11, 0, 64);
  subject.transmit();
  subject.sent();
  REQUIRE(subject.qp().state() == QueuePairState::send_queue_error);
  CHECK(subject.qp().modify(QueuePairState::send_queue_drain, {}, 0) ==
        transport::ModifyError::illegal_transition);
  SECTION("to ERR") {
    REQUIRE(subject.qp().modify(QueuePairState::error, {}) == std::nullopt);
    CHECK(describe(subject.received()) == Lines{"11 Work Request Flushed Error"});
  }
  SECTION("to RESET") {
    REQUIRE(subject.qp().modify(QueuePairState::reset, {}) == std::nullopt);
    CHECK(subject.received().empty());
    CHECK(subject.qp().receive_queue_depth() == 0);
  }
  CHECK(subject.sent().empty());
}

TEST_CASE("10.3.1.6 SQD leads to SQE as RTS does") {
  Setup setup;
  setup.service = wire::Service::unreliable_connection;
  Subject subject(setup);
  const nic::MemoryKeys passing =
      subject.add_region(Subject::kDomain, transport::kLocalWrite, Subject::kSize);
  subject.post(SendOperation::rdma_write, 1, 0, 700, [&](transport::SendRequest& request) {
    static transport::Sge list;
    list = {Subject::kBase, 700, passing.local};
    request.sges = {&list, 1};
  });
  subject.transmit(1);
  drain(subject);
  REQUIRE(subject.memory().remove(passing.local));
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().state() == QueuePairState::send_queue_error);
  CHECK_FALSE(subject.qp().draining());
  CHECK(subject.events().empty());
}

TEST_CASE("10.3.1.6 The same error in an RC send queue leads to ERR") {
  Subject subject;
  fail_second_send(subject);
  subject.post_receive(11, 0, 64);
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1000 ackreq 4 B"});
  subject.deliver(acknowledge(1000, 1));
  CHECK(subject.qp().state() == QueuePairState::error);
  CHECK(describe(subject.sent()) ==
        Lines{"1 success", "2 local protection error", "3 Work Request Flushed Error"});
  CHECK(describe(subject.received()) == Lines{"11 Work Request Flushed Error"});
}

// ---------------------------------------------------------------- asynchronous events

TEST_CASE("11.6.3.1 Communication is established by the first packet in RTR, once") {
  for (const wire::Service service :
       {wire::Service::reliable_connection, wire::Service::unreliable_connection}) {
    Setup setup = in_state(QueuePairState::ready_to_receive);
    setup.service = service;
    const Opcode opcode =
        service == wire::Service::reliable_connection ? Opcode::rc_send_only : Opcode::uc_send_only;
    Subject subject(setup);
    CHECK(subject.events().empty());
    subject.post_receive(1, 0, 64);
    subject.post_receive(2, 0, 64);
    subject.deliver(request(opcode, 500, pattern(4)));
    CHECK(subject.events() == Lines{"communication established"});
    subject.deliver(request(opcode, 501, pattern(4)));
    CHECK(subject.events().empty());

    // Another life, another event.
    REQUIRE(subject.qp().modify(QueuePairState::reset, {}) == std::nullopt);
    REQUIRE(subject.qp().modify(QueuePairState::init, setup.attributes) == std::nullopt);
    REQUIRE(subject.qp().modify(QueuePairState::ready_to_receive, setup.attributes) ==
            std::nullopt);
    subject.post_receive(3, 0, 64);
    subject.deliver(request(opcode, 500, pattern(4)));
    CHECK(subject.events() == Lines{"communication established"});
  }
}

TEST_CASE("11.6.3.1 In RTS nobody waits for the first packet, and datagrams establish nothing") {
  Subject subject;
  subject.post_receive(1, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(subject.events().empty());

  Setup setup = in_state(QueuePairState::ready_to_receive);
  setup.service = wire::Service::unreliable_datagram;
  Subject datagrams(setup);
  datagrams.post_receive(1, 0, 64);
  Packet packet = request(Opcode::ud_send_only, 500, pattern(4));
  packet.headers.deth.queue_key = setup.attributes.queue_key;
  datagrams.deliver(packet);
  CHECK(describe(datagrams.received()) == Lines{"1 success"});
  CHECK(datagrams.events().empty());
}

TEST_CASE("11.6.3.2 A request refused before it took a receive is told by an event") {
  struct Case {
    const char* nak;
    const char* event;
    std::function<Packet(Subject&)> packet;
  };
  const Case cases[] = {
      {"NAK Remote Access Error psn 500 msn 0", "local access violation work queue error",
       [](Subject&) {
         return write_request(Opcode::rc_write_only, 500, Subject::kBase, 0xbad, 4, pattern(4));
       }},
      {"NAK Remote Access Error psn 500 msn 0", "local access violation work queue error",
       [](Subject& s) { return read_request(500, Subject::kBase + Subject::kSize, s.key(), 4); }},
      {"NAK Invalid Request psn 500 msn 0", "invalid request local work queue error",
       [](Subject&) { return request(Opcode::rc_send_middle, 500, pattern(256)); }},
      {"NAK Invalid Request psn 500 msn 0", "invalid request local work queue error",
       [](Subject& s) { return fetch_add(500, Subject::kBase + 4, s.key(), 1); }},
  };
  for (const Case& c : cases) {
    Subject subject;
    subject.deliver(c.packet(subject));
    CHECK(describe(subject.transmit()) == Lines{c.nak});
    CHECK(subject.qp().state() == QueuePairState::error);
    CHECK(subject.events() == Lines{c.event});
    CHECK(subject.received().empty());
  }
}

TEST_CASE("11.6.3.2 What a completion tells is not told by an event too") {
  Subject subject;
  subject.post_receive(1, 0, 2);
  subject.deliver(send_only(500, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"NAK Invalid Request psn 500 msn 0"});
  CHECK(describe(subject.received()) == Lines{"1 local length error"});
  CHECK(subject.events().empty());

  Subject requester;
  requester.post(SendOperation::send, 1, 0, 4);
  requester.transmit();
  requester.deliver(nak(1000, wire::NakCode::remote_access_error));
  CHECK(describe(requester.sent()) == Lines{"1 remote access error"});
  CHECK(requester.events().empty());
}

TEST_CASE("11.6.3.2 A region gone under a READ that is being answered is an access violation") {
  Subject subject;
  const nic::MemoryKeys passing =
      subject.add_region(Subject::kDomain, transport::kRemoteRead, Subject::kSize);
  subject.deliver(read_request(500, Subject::kBase, passing.remote, 600));
  CHECK(subject.transmit(1).size() == 1);
  REQUIRE(subject.memory().remove(passing.local));
  CHECK(describe(subject.transmit()) == Lines{"NAK Remote Access Error psn 501 msn 1"});
  CHECK(subject.qp().state() == QueuePairState::error);
  CHECK(subject.events() == Lines{"local access violation work queue error"});
}

TEST_CASE("11.6.3.2 A completion that found no room is a catastrophe of the queue pair") {
  for (const wire::Service service :
       {wire::Service::reliable_connection, wire::Service::unreliable_connection}) {
    Setup setup;
    setup.service = service;
    setup.completions = 1;
    Subject subject(setup);
    subject.post(SendOperation::send, 1, 0, 4);
    subject.post(SendOperation::send, 2, 0, 4);
    subject.transmit();
    if (service == wire::Service::reliable_connection) subject.deliver(acknowledge(1001, 2));
    CHECK(subject.qp().state() == QueuePairState::error);  // and not SQE
    CHECK(subject.events() == Lines{"local work queue catastrophic error"});
  }
}

TEST_CASE("11.6.3.1 A queue pair in ERR says that it takes no more from its shared receive queue") {
  transport::SharedReceiveQueue queue({.number = 7,
                                       .domain = Subject::kDomain,
                                       .capacity = {.requests = 8, .sges = 2},
                                       .events = transport::unheard_events()});
  Setup setup;
  setup.shared_receive_queue = &queue;
  SECTION("by its user") {
    Subject subject(setup);
    REQUIRE(subject.qp().modify(QueuePairState::error, {}) == std::nullopt);
    CHECK(subject.events() == Lines{"last WQE reached"});
    REQUIRE(subject.qp().modify(QueuePairState::error, {}) == std::nullopt);
    CHECK(subject.events().empty());  // it was in ERR already
  }
  SECTION("by a fault, after the receive that was being filled") {
    Subject subject(setup);
    const std::array sges{subject.local(0, 1024)};
    REQUIRE_FALSE(queue.post({1, sges}));
    REQUIRE_FALSE(queue.post({2, sges}));
    subject.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
    subject.deliver(request(Opcode::rc_write_middle, 501, pattern(256)));
    CHECK(describe(subject.received()) == Lines{"1 Work Request Flushed Error"});
    CHECK(subject.events() == Lines{"invalid request local work queue error", "last WQE reached"});
    CHECK(queue.size() == 1);
  }
}

}  // namespace softrnic::conformance
