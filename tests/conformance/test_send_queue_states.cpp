// SPDX-License-Identifier: BSD-3-Clause
// The states of the send queue alone: SQD, draining and then drained, and SQE (10.3.1.5, 10.3.1.6).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::QueuePairState;
using transport::SendOperation;
using wire::Opcode;

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

// What a datagram needs, and no other request minds.
void to_peer(transport::SendRequest& request) {
  request.address_handle = 1;
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
  subject.post(SendOperation::send, 1, 0, 4, to_peer);
  subject.post(SendOperation::send, 2, 0, 4, [](transport::SendRequest& request) {
    to_peer(request);
    static const transport::Sge kNowhere{0, 4, 0};
    request.sges = {&kNowhere, 1};
  });
  subject.post(SendOperation::send, 3, 0, 4, to_peer);
}

// Posts a WRITE of three packets from a region of its own, and gives that region's local key.
std::uint32_t write_from_passing_region(Subject& subject) {
  const nic::MemoryKeys passing =
      subject.add_region(Subject::kDomain, transport::kLocalWrite, Subject::kSize);
  subject.post(SendOperation::rdma_write, 1, 0, 700, [&](transport::SendRequest& request) {
    static transport::Sge list;
    list = {Subject::kBase, 700, passing.local};
    request.sges = {&list, 1};
  });
  return passing.local;
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

    subject.post(SendOperation::send, 4, 0, 4, to_peer);
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
    subject.post(SendOperation::send, 5, 0, 4, to_peer);
    CHECK(describe(subject.transmit()) == Lines{name + " psn 1001 4 B"});
    CHECK(describe(subject.sent()) == Lines{"5 success"});
  }
}

TEST_CASE("10.3.1.6 A UC message broken off leaves its PSNs used") {
  Setup setup;
  setup.service = wire::Service::unreliable_connection;
  Subject subject(setup);
  const std::uint32_t passing = write_from_passing_region(subject);
  CHECK(describe(subject.transmit(1)) == Lines{"UC RDMA WRITE First psn 1000 256 B"});
  REQUIRE(subject.memory().remove(passing));
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
  const std::uint32_t passing = write_from_passing_region(subject);
  subject.transmit(1);
  drain(subject);
  REQUIRE(subject.memory().remove(passing));
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

}  // namespace softrnic::conformance
