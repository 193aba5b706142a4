// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous events about a queue pair: when they are raised, and how often (11.6.3).
#include <array>
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"
#include "transport/shared_receive_queue.hpp"

namespace softrnic::conformance {

using transport::QueuePairState;
using transport::SendOperation;
using wire::Opcode;

TEST_CASE("11.6.3.1 Communication is established by the first packet in RTR, once") {
  for (const wire::Service service :
       {wire::Service::reliable_connection, wire::Service::unreliable_connection}) {
    Setup setup;
    setup.state = QueuePairState::ready_to_receive;
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

  Setup setup;
  setup.state = QueuePairState::ready_to_receive;
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
