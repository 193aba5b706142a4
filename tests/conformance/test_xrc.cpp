// SPDX-License-Identifier: BSD-3-Clause
// Extended reliable connections (annex A14): an initiator that names a shared receive queue of its
// peer's in every request, and a target that serves whichever queues are in its XRC domain.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"
#include "transport/xrc_domain.hpp"

namespace softrnic::conformance {

using transport::CompletionOperation;
using transport::PostError;
using transport::QueuePairState;
using transport::QueuePairType;
using transport::SendOperation;
using transport::SharedReceiveQueue;
using wire::Opcode;

namespace {

constexpr std::uint32_t kFirst = 0x71;   // numbers of shared receive queues
constexpr std::uint32_t kSecond = 0x72;  // in the other protection domain
constexpr std::uint32_t kOutside = 0x73;

// The same packet as a peer sends it to an XRC target.
Packet extended(Packet packet, std::uint32_t srq) {
  const auto low = static_cast<std::uint8_t>(packet.headers.bth.opcode);
  packet.headers.bth.opcode = static_cast<Opcode>(low | 0xa0);
  packet.headers.xrceth.shared_receive_queue = srq;
  return packet;
}

Setup setup_of(QueuePairType type, transport::XrcDomain* domain = nullptr) {
  Setup setup;
  setup.type = type;
  setup.xrc_domain = domain;
  return setup;
}

// A target with two queues in its domain, and one that is not.
struct Target {
  Target() : subject(setup_of(QueuePairType::xrc_target, &domain)) {
    domain.add(first);
    domain.add(second);
    other_keys = subject.add_region(Subject::kOtherDomain,
                                    transport::kLocalWrite | transport::kRemoteWrite |
                                        transport::kRemoteRead | transport::kRemoteAtomic);
  }
  static SharedReceiveQueue make(std::uint32_t number, transport::ProtectionDomain pd,
                                 nic::CompletionQueue& completions) {
    return SharedReceiveQueue({.number = number,
                               .domain = pd,
                               .capacity = {.requests = 8, .sges = 1},
                               .completions = &completions});
  }
  void post(SharedReceiveQueue& queue, std::uint64_t id, std::uint64_t offset,
            std::uint32_t length = 1024) {
    const bool is_second = &queue == &second;
    const std::array sges{transport::Sge{Subject::kBase + offset, length,
                                         is_second ? other_keys.local : subject.local_key()}};
    REQUIRE_FALSE(queue.post({id, sges}).has_value());
  }
  void deliver(Packet packet, std::uint32_t srq = kFirst) {
    subject.deliver(extended(std::move(packet), srq));
  }
  static std::vector<transport::Completion> take(nic::CompletionQueue& queue) {
    std::vector<transport::Completion> all(queue.size());
    all.resize(queue.poll(all));
    return all;
  }
  bool holds(std::size_t offset, const Bytes& payload) {
    return std::equal(payload.begin(), payload.end(),
                      subject.bytes().begin() + static_cast<std::ptrdiff_t>(offset));
  }

  nic::CompletionQueue first_done{64};
  nic::CompletionQueue second_done{64};
  SharedReceiveQueue first = make(kFirst, Subject::kDomain, first_done);
  SharedReceiveQueue second = make(kSecond, Subject::kOtherDomain, second_done);
  SharedReceiveQueue outside = make(kOutside, Subject::kDomain, first_done);
  transport::XrcDomain domain;
  Subject subject;
  nic::MemoryKeys other_keys;
};

}  // namespace

// ---------------------------------------------------------------- the target

TEST_CASE("A14 A SEND is received through the queue that it names, and completes there") {
  Target target;
  target.post(target.first, 1, 0x1000);
  target.post(target.second, 2, 0x2000);
  target.deliver(send_only(500, pattern(20, 5)), kSecond);
  target.deliver(send_only(501, pattern(30, 6)).solicited(), kFirst);
  const auto second = Target::take(target.second_done);
  REQUIRE(describe(second) == Lines{"2 success"});
  CHECK(second[0].qpn == kSubjectQpn);
  CHECK(second[0].byte_length == 20);
  const auto first = Target::take(target.first_done);
  REQUIRE(describe(first) == Lines{"1 success"});
  CHECK(first[0].solicited);
  CHECK(target.holds(0x2000, pattern(20, 5)));
  CHECK(target.holds(0x1000, pattern(30, 6)));
  CHECK(describe(target.subject.transmit()) == Lines{"XRC ACK psn 501 msn 2"});
  CHECK(target.subject.received().empty());  // a target has no receive queue of its own
}

TEST_CASE("A14 A message of several packets stays with its queue") {
  Target target;
  target.post(target.first, 1, 0x1000);
  target.post(target.second, 2, 0x2000);
  target.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  target.deliver(request(Opcode::rc_send_middle, 501, pattern(256)));
  SECTION("to its end") {
    Packet last = request(Opcode::rc_send_last_immediate, 502, pattern(9)).with_ack_request();
    last.headers.immdt.data = 0xfeed;
    target.deliver(last);
    const auto done = Target::take(target.first_done);
    REQUIRE(describe(done) == Lines{"1 success"});
    CHECK(done[0].byte_length == 521);
    CHECK(done[0].immediate == 0xfeed);
    CHECK(describe(target.subject.transmit()) == Lines{"XRC ACK psn 502 msn 1"});
  }
  SECTION("and may not name another on its way") {
    target.deliver(request(Opcode::rc_send_last, 502, pattern(9)), kSecond);
    CHECK(describe(target.subject.transmit()) == Lines{"XRC NAK Invalid Request psn 502 msn 0"});
    CHECK(target.subject.qp().state() == QueuePairState::error);
    CHECK(describe(Target::take(target.first_done)) == Lines{"1 Work Request Flushed Error"});
    CHECK(target.second.size() == 1);
  }
  SECTION("also when a duplicate of an earlier one for another queue comes between") {
    target.deliver(send_only(499, pattern(4)), kSecond);
    target.deliver(request(Opcode::rc_send_last, 502, pattern(9)));
    CHECK(describe(Target::take(target.first_done)) == Lines{"1 success"});
    CHECK(Target::take(target.second_done).empty());
  }
}

TEST_CASE("A14 A request that names no queue of the domain is refused, whatever it asks for") {
  const auto address = Subject::kBase;
  for (const std::uint32_t srq : {kOutside, 0u, 0xffffffu}) {
    for (int kind = 0; kind < 5; ++kind) {
      Target target;
      target.post(target.outside, 1, 0x1000);
      const std::uint32_t key = target.subject.key();
      const std::array packets{
          send_only(500, pattern(4)),
          write_request(Opcode::rc_write_only, 500, address, key, 4, pattern(4)),
          read_request(500, address, key, 4), fetch_add(500, address, key, 1),
          write_request(Opcode::rc_write_only, 500, 0, 0, 0)};
      INFO(fmt::format("queue {:#x}, kind {}", srq, kind));
      const Bytes before = target.subject.bytes();
      target.deliver(packets[static_cast<std::size_t>(kind)], srq);
      CHECK(describe(target.subject.transmit()) ==
            Lines{"XRC NAK Remote Access Error psn 500 msn 0"});
      CHECK(target.subject.qp().state() == QueuePairState::error);
      CHECK(target.subject.bytes() == before);
      CHECK(target.outside.size() == 1);
    }
  }
}

TEST_CASE("A14 Requests reach the memory of the queue's protection domain") {
  Target target;
  const std::uint32_t mine = target.subject.key();
  const std::uint32_t others = target.other_keys.remote;
  const auto address = Subject::kBase + 64;
  target.deliver(write_request(Opcode::rc_write_only, 500, address, mine, 8, pattern(8, 7)));
  target.deliver(read_request(501, address, others, 8), kSecond);
  target.deliver(fetch_add(502, address, others, 1), kSecond);
  target.deliver(read_request(503, address, mine, 8), kFirst);
  Bytes written = pattern(8, 7);
  written[0] = std::byte{8};  // one more
  CHECK(target.holds(64, written));
  CHECK(describe(target.subject.transmit()) ==
        Lines{"XRC RDMA READ response Only psn 501 msn 2 8 B",
              "XRC ATOMIC Acknowledge psn 502 msn 3",
              "XRC RDMA READ response Only psn 503 msn 4 8 B"});

  SECTION("and no other's") {
    target.deliver(read_request(504, address, mine, 8), kSecond);
    CHECK(describe(target.subject.transmit()) ==
          Lines{"XRC NAK Remote Access Error psn 504 msn 4"});
  }
}

TEST_CASE("A14 A READ of several packets is answered for the queue it came by") {
  Target target;
  target.deliver(read_request(500, Subject::kBase, target.other_keys.remote, 600), kSecond);
  target.deliver(write_request(Opcode::rc_write_only, 503, Subject::kBase + 4096,
                               target.subject.key(), 4, pattern(4))
                     .with_ack_request(),
                 kFirst);
  CHECK(describe(target.subject.transmit()) ==
        Lines{"XRC RDMA READ response First psn 500 msn 1 256 B",
              "XRC RDMA READ response Middle psn 501 256 B",
              "XRC RDMA READ response Last psn 502 msn 1 88 B", "XRC ACK psn 503 msn 2"});
  // And again, from the middle on, though the last request was for another queue.
  target.deliver(read_request(501, Subject::kBase + 256, target.other_keys.remote, 344), kSecond);
  CHECK(describe(target.subject.transmit()) ==
        Lines{"XRC RDMA READ response First psn 501 msn 2 256 B",
              "XRC RDMA READ response Last psn 502 msn 2 88 B"});
}

TEST_CASE("A14 An atomic is executed once, and its duplicate gets the same answer") {
  Target target;
  target.subject.set_word(0, 40);
  target.deliver(fetch_add(500, Subject::kBase, target.subject.key(), 2));
  target.deliver(compare_swap(501, Subject::kBase, target.subject.key(), 42, 7));
  target.subject.transmit();
  target.deliver(fetch_add(500, Subject::kBase, target.subject.key(), 2));
  const auto again = target.subject.transmit();
  REQUIRE(describe(again) == Lines{"XRC ATOMIC Acknowledge psn 500 msn 2"});
  CHECK(again[0].headers.atomic_ack_eth.original == 40);
  CHECK(target.subject.word(0) == 7);
}

TEST_CASE("A14 Memory placement has its own opcodes in XRC too") {
  Target target;
  target.subject.deliver(
      extended(atomic_write(500, Subject::kBase, target.subject.key(), pattern(8, 9)), kFirst));
  CHECK(describe(target.subject.transmit()) ==
        Lines{"XRC RDMA READ response Only psn 500 msn 1 0 B"});
  CHECK(target.holds(0, pattern(8, 9)));
}

TEST_CASE("A14 An empty queue gets an RNR NAK while another of the domain receives") {
  Target target;
  target.post(target.second, 2, 0x2000);
  target.deliver(send_only(500, pattern(4)), kFirst);
  CHECK(describe(target.subject.transmit()) == Lines{"XRC RNR NAK 12 psn 500 msn 0"});
  target.post(target.first, 1, 0x1000);
  target.deliver(send_only(500, pattern(4)), kFirst);
  target.deliver(send_only(501, pattern(4)), kSecond);
  CHECK(describe(target.subject.transmit()) == Lines{"XRC ACK psn 501 msn 2"});
  CHECK(describe(Target::take(target.first_done)) == Lines{"1 success"});
  CHECK(describe(Target::take(target.second_done)) == Lines{"2 success"});
}

TEST_CASE("A14 A queue that goes in the midst of a message takes its receive along") {
  Target target;
  target.post(target.first, 1, 0x1000);
  target.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  target.domain.remove(target.first);
  SECTION("the message is refused") {
    target.deliver(request(Opcode::rc_send_last, 501, pattern(4)));
    CHECK(describe(target.subject.transmit()) ==
          Lines{"XRC NAK Remote Access Error psn 501 msn 0"});
  }
  SECTION("the queue pair can be ended") {
    REQUIRE_FALSE(target.subject.qp().modify(QueuePairState::error, {}).has_value());
  }
  CHECK(target.subject.qp().state() == QueuePairState::error);
  CHECK(Target::take(target.first_done).empty());
  CHECK(target.subject.received().empty());
}

TEST_CASE("A14 A target in ERR flushes the receive of the message it was in to the queue's end") {
  Target target;
  target.post(target.second, 1, 0x1000);
  target.post(target.second, 2, 0x1000);
  target.deliver(request(Opcode::rc_send_first, 500, pattern(256)), kSecond);
  REQUIRE_FALSE(target.subject.qp().modify(QueuePairState::error, {}).has_value());
  CHECK(describe(Target::take(target.second_done)) == Lines{"1 Work Request Flushed Error"});
  CHECK(target.second.size() == 1);
}

TEST_CASE("A14 A target has no send queue and no receive queue") {
  Target target;
  CHECK(target.subject.qp().post_send({}) == PostError::bad_operation);
  CHECK(target.subject.qp().post_receive({}) == PostError::shared_receive_queue);
  target.deliver(acknowledge(1000, 1));
  target.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(4)));
  CHECK(target.subject.counters().wrong_service == 2);
  CHECK(target.subject.transmit().empty());
  CHECK(target.subject.qp().next_deadline() == wire::kNever);
}

// ---------------------------------------------------------------- the initiator

namespace {

struct Initiator : Subject {
  Initiator() : Subject(setup_of(QueuePairType::xrc_initiator)) {}

  void ask(SendOperation operation, std::uint64_t id, std::uint32_t length,
           std::uint32_t srq = kFirst) {
    post(operation, id, 0, length, [srq](auto& r) { r.remote_srq = srq; });
  }
  void answer(Packet packet) {
    const auto low = static_cast<std::uint8_t>(packet.headers.bth.opcode);
    packet.headers.bth.opcode = static_cast<Opcode>(low | 0xa0);
    deliver(packet);
  }
};

bool all_name(const std::vector<Packet>& packets, std::uint32_t srq) {
  return std::all_of(packets.begin(), packets.end(), [srq](const Packet& p) {
    return p.info().has(wire::kXrceth) && p.headers.xrceth.shared_receive_queue == srq;
  });
}

}  // namespace

TEST_CASE("A14 Every request packet of an initiator is XRC's and names the queue") {
  Initiator subject;
  const auto sends = [&subject](SendOperation operation, std::uint32_t length) {
    subject.ask(operation, 1, length, 0xabcdef);
    const auto packets = subject.transmit();
    CHECK(all_name(packets, 0xabcdef));
    return describe(packets);
  };
  CHECK(sends(SendOperation::send, 0) == Lines{"XRC SEND Only psn 1000 ackreq 0 B"});
  CHECK(sends(SendOperation::send_with_immediate, 1) ==
        Lines{"XRC SEND Only with Immediate psn 1001 ackreq 1 B"});
  CHECK(sends(SendOperation::send_with_invalidate, 256) ==
        Lines{"XRC SEND Only with Invalidate psn 1002 ackreq 256 B"});
  CHECK(sends(SendOperation::send, 600) == Lines{"XRC SEND First psn 1003 256 B",
                                                 "XRC SEND Middle psn 1004 256 B",
                                                 "XRC SEND Last psn 1005 ackreq 88 B"});
  CHECK(sends(SendOperation::send_with_immediate, 257) ==
        Lines{"XRC SEND First psn 1006 256 B", "XRC SEND Last with Immediate psn 1007 ackreq 1 B"});
  CHECK(
      sends(SendOperation::send_with_invalidate, 257) ==
      Lines{"XRC SEND First psn 1008 256 B", "XRC SEND Last with Invalidate psn 1009 ackreq 1 B"});
  CHECK(sends(SendOperation::rdma_write, 8) == Lines{"XRC RDMA WRITE Only psn 1010 ackreq 8 B"});
  CHECK(sends(SendOperation::rdma_write_with_immediate, 600) ==
        Lines{"XRC RDMA WRITE First psn 1011 256 B", "XRC RDMA WRITE Middle psn 1012 256 B",
              "XRC RDMA WRITE Last with Immediate psn 1013 ackreq 88 B"});
  CHECK(sends(SendOperation::rdma_read, 600) == Lines{"XRC RDMA READ Request psn 1014 ackreq"});
  CHECK(sends(SendOperation::compare_swap, 8) == Lines{"XRC CmpSwap psn 1017 ackreq"});
  CHECK(sends(SendOperation::fetch_add, 8) == Lines{"XRC FetchAdd psn 1018 ackreq"});
  CHECK(sends(SendOperation::atomic_write, 8) == Lines{"XRC ATOMIC WRITE psn 1019 ackreq 8 B"});
}

TEST_CASE("A14 An initiator's requests complete by XRC answers, which name no queue") {
  Initiator subject;
  subject.ask(SendOperation::send, 1, 4);
  subject.ask(SendOperation::rdma_read, 2, 300);
  subject.ask(SendOperation::fetch_add, 3, 8);
  subject.transmit();
  subject.answer(acknowledge(1000, 1));
  subject.answer(read_response(Opcode::rc_read_response_first, 1001, pattern(256, 4), 2));
  subject.answer(read_response(Opcode::rc_read_response_last, 1002, pattern(44, 5), 2));
  subject.answer(atomic_response(1003, 77, 3));
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success", "3 success"});
  CHECK(subject.word(0) == 77);
}

TEST_CASE("A14 What an initiator sends again names its queue again") {
  Initiator subject;
  subject.ask(SendOperation::send, 1, 300, kFirst);
  subject.ask(SendOperation::rdma_write, 2, 300, kSecond);
  const auto once = subject.transmit();
  subject.answer(nak(1001, wire::NakCode::psn_sequence_error));
  const auto again = subject.transmit();
  REQUIRE(again.size() == 3);
  CHECK(describe(again)[0].starts_with("XRC SEND Last psn 1001"));
  CHECK(all_name({again[0]}, kFirst));
  CHECK(all_name({again[1], again[2]}, kSecond));
  subject.answer(acknowledge(1003, 2));
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success"});
}

TEST_CASE("A14 A target's refusals end an initiator's connection as RC's do") {
  struct Case {
    wire::NakCode code;
    std::string_view line;
  };
  for (const Case c : {Case{wire::NakCode::invalid_request, "1 remote invalid request error"},
                       Case{wire::NakCode::remote_access_error, "1 remote access error"}}) {
    Initiator subject;
    subject.ask(SendOperation::send, 1, 4);
    subject.transmit();
    subject.answer(nak(1000, c.code));
    CHECK(describe(subject.sent()) == Lines{std::string(c.line)});
    CHECK(subject.qp().state() == QueuePairState::error);
  }
}

TEST_CASE("A14 A queue number of more than 24 bits does not get onto the wire") {
  Initiator subject;
  subject.ask(SendOperation::send, 1, 4, 0x1000000);
  CHECK(subject.transmit().empty());
  CHECK(describe(subject.sent()) == Lines{"1 local QP operation error"});
}

TEST_CASE("A14 An initiator receives nothing") {
  Initiator subject;
  CHECK(subject.qp().post_receive({}) == PostError::bad_operation);
  const Bytes before = subject.bytes();
  subject.deliver(extended(send_only(500, pattern(4)), kFirst));
  subject.deliver(extended(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, subject.key(), 4, pattern(4, 88)),
      kFirst));
  CHECK(subject.transmit().empty());
  CHECK(subject.bytes() == before);
  CHECK(subject.counters().wrong_service == 2);
}

}  // namespace softrnic::conformance
