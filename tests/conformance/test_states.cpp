// SPDX-License-Identifier: BSD-3-Clause
// Queue pair states, and what each takes and does (10.3.1).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

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

}  // namespace softrnic::conformance
