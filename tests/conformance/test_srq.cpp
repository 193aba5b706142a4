// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues (10.2.9). Two subjects stand for two queue pairs of one NIC: each has a
// memory of its own, under the same addresses and keys, so that it shows who took a receive.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"
#include "transport/shared_receive_queue.hpp"

namespace softrnic::conformance {

using transport::AsyncEvent;
using transport::PostError;
using transport::QueuePairState;
using transport::SharedReceiveQueue;
using wire::Opcode;

namespace {

constexpr std::uint32_t kQueueNumber = 0x77;

struct Heard final : transport::EventSink {
  void raise(AsyncEvent event, std::uint32_t number) override {
    lines.push_back(fmt::format("{} {:#x}", to_string(event), number));
  }
  Lines take() { return std::exchange(lines, {}); }
  Lines lines;
};

// A shared receive queue with the subjects on it.
struct Sharing {
  explicit Sharing(wire::Service service = wire::Service::reliable_connection,
                   transport::ProtectionDomain domain = Subject::kDomain)
      : queue({.number = kQueueNumber,
               .domain = domain,
               .capacity = {.requests = 8, .sges = 2},
               .events = events}),
        first(setup_of(service)),
        second(setup_of(service)) {}

  Setup setup_of(wire::Service service) {
    Setup setup;
    setup.service = service;
    setup.shared_receive_queue = &queue;
    return setup;
  }
  std::optional<PostError> try_post(std::uint64_t id, std::uint32_t length, int elements = 1) {
    const std::vector<transport::Sge> sges(static_cast<std::size_t>(elements),
                                           first.local(0x8000, length));
    return queue.post({id, sges});
  }
  void post(std::uint64_t id, std::uint32_t length = 1024) {
    REQUIRE_FALSE(try_post(id, length).has_value());
  }

  Heard events;
  SharedReceiveQueue queue;
  Subject first, second;
};

bool holds(const Subject& subject, const Bytes& payload) {
  const auto at = const_cast<Subject&>(subject).bytes().begin() + 0x8000;
  return std::equal(payload.begin(), payload.end(), at);
}

}  // namespace

TEST_CASE("10.2.9 Whoever needs a receive takes the oldest, and completes it in its own queue") {
  Sharing sharing;
  for (std::uint64_t id = 1; id <= 3; ++id) sharing.post(id);
  sharing.second.deliver(send_only(500, pattern(40, 9)));
  sharing.first.deliver(send_only(500, pattern(30, 8)));
  sharing.second.deliver(send_only(501, pattern(20, 7)));
  CHECK(describe(sharing.second.received()) == Lines{"1 success", "3 success"});
  CHECK(describe(sharing.first.received()) == Lines{"2 success"});
  CHECK(holds(sharing.first, pattern(30, 8)));
  CHECK(holds(sharing.second, pattern(20, 7)));
  CHECK(describe(sharing.second.transmit()) == Lines{"ACK psn 501 msn 2"});
  CHECK(sharing.queue.size() == 0);
  CHECK(sharing.events.take().empty());
}

TEST_CASE("10.2.9.2 A SEND takes its receive with its first packet and keeps it to the last") {
  Sharing sharing;
  sharing.post(1);
  sharing.post(2);
  sharing.first.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  CHECK(sharing.queue.size() == 1);
  CHECK(sharing.first.qp().receive_queue_depth() == 1);
  sharing.second.deliver(send_only(500, pattern(8)));
  CHECK(describe(sharing.second.received()) == Lines{"2 success"});

  // That none is left now is of no matter to the message that has begun.
  sharing.first.deliver(request(Opcode::rc_send_last, 501, pattern(4)).with_ack_request());
  const auto done = sharing.first.received();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].byte_length == 260);
  CHECK(done[0].qpn == kSubjectQpn);
  CHECK(describe(sharing.first.transmit()) == Lines{"ACK psn 501 msn 1"});
}

TEST_CASE("10.2.9.2 A WRITE with immediate takes its receive with its last packet") {
  Sharing sharing;
  sharing.post(1);
  sharing.first.deliver(write_request(Opcode::rc_write_first, 500, Subject::kBase,
                                      sharing.first.key(), 260, pattern(256)));
  CHECK(sharing.queue.size() == 1);
  Packet last = request(Opcode::rc_write_last_immediate, 501, pattern(4)).with_ack_request();
  sharing.first.deliver(last);
  CHECK(describe(sharing.first.received()) == Lines{"1 success"});

  sharing.second.deliver(write_request(Opcode::rc_write_only_immediate, 500, Subject::kBase,
                                       sharing.second.key(), 4, pattern(4)));
  CHECK(describe(sharing.second.transmit()) == Lines{"RNR NAK 12 psn 500 msn 0"});
}

TEST_CASE("9.7.5.2.8 An empty shared receive queue gets an RNR NAK, whoever emptied it") {
  Sharing sharing;
  sharing.post(1);
  sharing.first.deliver(send_only(500, pattern(4)));
  sharing.second.deliver(send_only(500, pattern(4)));
  CHECK(describe(sharing.second.transmit()) == Lines{"RNR NAK 12 psn 500 msn 0"});
  CHECK(sharing.second.counters().out_of_buffer == 1);
  sharing.post(2);
  sharing.second.deliver(send_only(500, pattern(4)));
  CHECK(describe(sharing.second.transmit()) == Lines{"ACK psn 500 msn 1"});
  CHECK(describe(sharing.second.received()) == Lines{"2 success"});
}

TEST_CASE("10.2.9.3 The limit is reached once when fewer receives wait, and then disarmed") {
  Sharing sharing;
  for (std::uint64_t id = 1; id <= 6; ++id) sharing.post(id);
  REQUIRE(sharing.queue.arm(5));
  CHECK(sharing.queue.limit() == 5);
  sharing.first.deliver(send_only(500, pattern(4)));
  CHECK(sharing.events.take().empty());  // as many as the limit are not fewer
  sharing.second.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  CHECK(sharing.events.take() == Lines{"SRQ limit reached 0x77"});
  CHECK(sharing.queue.limit() == 0);
  sharing.first.deliver(send_only(501, pattern(4)));
  CHECK(sharing.events.take().empty());

  SECTION("armed again, it is reached again") {
    REQUIRE(sharing.queue.arm(3));
    sharing.first.deliver(send_only(502, pattern(4)));
    CHECK(sharing.events.take() == Lines{"SRQ limit reached 0x77"});
  }
  SECTION("armed above what waits, it is reached at once") {
    REQUIRE(sharing.queue.arm(4));
    CHECK(sharing.events.take() == Lines{"SRQ limit reached 0x77"});
    CHECK(sharing.queue.limit() == 0);
  }
  SECTION("armed with zero, it is never reached") {
    REQUIRE(sharing.queue.arm(0));
    for (std::uint32_t psn = 502; psn < 505; ++psn) {
      sharing.first.deliver(send_only(psn, pattern(4)));
    }
    CHECK(sharing.queue.size() == 0);
    CHECK(sharing.events.take().empty());
  }
  SECTION("not armed above what the queue can hold") {
    CHECK_FALSE(sharing.queue.arm(9));
    CHECK(sharing.queue.limit() == 0);
    CHECK(sharing.events.take().empty());
  }
}

TEST_CASE("10.2.9 A queue pair in ERR flushes the receive it took and leaves the others") {
  Sharing sharing;
  for (std::uint64_t id = 1; id <= 3; ++id) sharing.post(id);
  sharing.first.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  REQUIRE_FALSE(sharing.first.qp().modify(QueuePairState::error, {}).has_value());
  CHECK(describe(sharing.first.received()) == Lines{"1 Work Request Flushed Error"});
  CHECK(sharing.queue.size() == 2);
  sharing.second.deliver(send_only(500, pattern(4)));
  CHECK(describe(sharing.second.received()) == Lines{"2 success"});
}

TEST_CASE("10.2.9 A queue pair that is reset gives up the receive it took without a word") {
  Sharing sharing;
  sharing.post(1);
  sharing.post(2);
  sharing.first.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  REQUIRE_FALSE(sharing.first.qp().modify(QueuePairState::reset, {}).has_value());
  CHECK(sharing.first.received().empty());
  CHECK(sharing.first.qp().receive_queue_depth() == 0);
  CHECK(sharing.queue.size() == 1);
}

TEST_CASE("10.2.9 A queue pair on a shared receive queue takes no receives of its own") {
  Sharing sharing;
  for (const QueuePairState state : {QueuePairState::ready_to_send, QueuePairState::error}) {
    if (state == QueuePairState::error) {
      REQUIRE_FALSE(sharing.first.qp().modify(state, {}).has_value());
    }
    CHECK(sharing.first.qp().post_receive({}) == PostError::shared_receive_queue);
  }
  CHECK(sharing.first.received().empty());
}

TEST_CASE("9.7.4.1.6 A SEND longer than the shared receive fails its queue pair alone") {
  Sharing sharing;
  sharing.post(1, 16);
  sharing.post(2, 16);
  sharing.first.deliver(send_only(500, pattern(17)));
  CHECK(describe(sharing.first.transmit()) == Lines{"NAK Invalid Request psn 500 msn 0"});
  CHECK(describe(sharing.first.received()) == Lines{"1 local length error"});
  CHECK(sharing.first.qp().state() == QueuePairState::error);
  sharing.second.deliver(send_only(500, pattern(16)));
  CHECK(describe(sharing.second.received()) == Lines{"2 success"});
}

TEST_CASE("10.2.9.1 Receives name memory of their queue's domain, whatever the queue pair's") {
  Sharing sharing(wire::Service::reliable_connection, Subject::kOtherDomain);
  const auto keys = sharing.first.add_region(Subject::kOtherDomain, transport::kLocalWrite);
  const std::array sges{transport::Sge{Subject::kBase + 0x8000, 64, keys.local}};
  REQUIRE_FALSE(sharing.queue.post({1, sges}).has_value());
  sharing.post(2);  // with a key of the queue pair's domain
  sharing.first.deliver(send_only(500, pattern(10)));
  CHECK(describe(sharing.first.received()) == Lines{"1 success"});
  CHECK(holds(sharing.first, pattern(10)));
  sharing.first.deliver(send_only(501, pattern(10)));
  CHECK(describe(sharing.first.received()) == Lines{"2 local protection error"});
}

TEST_CASE("9.8.2.2 A UC message dropped on its way leaves its receive to the queue pair's next") {
  Sharing sharing(wire::Service::unreliable_connection);
  sharing.post(1);
  sharing.post(2);
  sharing.first.deliver(request(Opcode::uc_send_first, 500, pattern(256)));
  sharing.second.deliver(request(Opcode::uc_send_only, 500, pattern(4)));
  CHECK(describe(sharing.second.received()) == Lines{"2 success"});
  sharing.first.deliver(request(Opcode::uc_send_last, 502, pattern(4)));  // 501 was lost
  CHECK(sharing.first.received().empty());
  sharing.first.deliver(request(Opcode::uc_send_only, 503, pattern(12, 5)));
  CHECK(describe(sharing.first.received()) == Lines{"1 success"});
  CHECK(holds(sharing.first, pattern(12, 5)));
  // And none at all loses the message.
  sharing.second.deliver(request(Opcode::uc_send_only, 501, pattern(4)));
  CHECK(sharing.second.counters().unreliable_dropped == 1);
}

TEST_CASE("9.8.3.2 Datagrams take shared receives, and one too short waits for a shorter one") {
  Sharing sharing(wire::Service::unreliable_datagram);
  sharing.post(1, 60);
  Packet datagram = request(Opcode::ud_send_only, 1, pattern(21));
  datagram.headers.deth.queue_key = 0x11111111;
  sharing.first.deliver(datagram);  // 61 bytes with the GRH's room
  CHECK(sharing.first.received().empty());
  CHECK(sharing.first.counters().unreliable_dropped == 1);
  datagram = request(Opcode::ud_send_only, 2, pattern(20));
  datagram.headers.deth.queue_key = 0x11111111;
  sharing.first.deliver(datagram);
  CHECK(describe(sharing.first.received()) == Lines{"1 success"});
  sharing.first.deliver(datagram);
  CHECK(sharing.first.counters().out_of_buffer == 1);
}

TEST_CASE("10.2.9 A shared receive queue holds as many receives and elements as it was made for") {
  Sharing sharing;
  for (std::uint64_t id = 0; id < 8; ++id) sharing.post(id);
  CHECK(sharing.try_post(8, 4) == PostError::queue_full);
  sharing.first.deliver(send_only(500, pattern(4)));
  CHECK(sharing.try_post(8, 4, 3) == PostError::too_many_sges);
  CHECK_FALSE(sharing.try_post(8, 4, 2).has_value());
}

TEST_CASE("11.2.3.3 A shared receive queue is resized with what waits in it, in its order") {
  Sharing sharing;
  for (std::uint64_t id = 0; id < 5; ++id) sharing.post(id);
  sharing.first.deliver(send_only(500, pattern(4)));  // so that the oldest is not the first slot
  CHECK_FALSE(sharing.queue.resize(3));
  CHECK(sharing.queue.capacity().requests == 8);
  REQUIRE(sharing.queue.resize(4));
  CHECK(sharing.queue.capacity().requests == 4);
  CHECK(sharing.try_post(9, 4) == PostError::queue_full);
  REQUIRE(sharing.queue.resize(20));
  for (std::uint64_t id = 5; id < 21; ++id) sharing.post(id);
  CHECK(sharing.try_post(21, 4) == PostError::queue_full);
  Lines expected{"0 success"};
  for (std::uint32_t i = 1; i < 21; ++i) {
    sharing.first.deliver(send_only(500 + i, pattern(4)));
    expected.push_back(fmt::format("{} success", i));
  }
  CHECK(describe(sharing.first.received()) == expected);
}

}  // namespace softrnic::conformance
