// SPDX-License-Identifier: BSD-3-Clause
// ATOMIC WRITE and FLUSH, at both ends (annex A19, memory placement extensions).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::CompletionOperation;
using transport::PostError;
using transport::QueuePairState;
using transport::SendOperation;
using wire::Feth;
using wire::Opcode;

namespace {

constexpr std::uint32_t kFlushes = transport::kFlushGlobal | transport::kFlushPersistent;
constexpr std::uint32_t kAll = transport::kLocalWrite | transport::kRemoteWrite |
                               transport::kRemoteRead | transport::kRemoteAtomic | kFlushes;

Setup with_flush() {
  Setup setup;
  setup.attributes.remote_access |= kFlushes;
  return setup;
}

void atomic_write_from(Subject& subject, std::uint64_t id, std::uint64_t offset,
                       std::uint32_t length = 8) {
  subject.post(SendOperation::atomic_write, id, offset, length);
}

void post_flush(Subject& subject, std::uint64_t id, std::uint64_t length,
                std::uint8_t placement = transport::kGlobalVisibility, bool all = false) {
  subject.post(SendOperation::flush, id, 0, 0, [&](auto& request) {
    request.sges = {};
    request.flush_length = length;
    request.placement = placement;
    request.flush_all = all;
  });
}

void check_refused(Subject& subject, const Packet& packet, const std::string& answer) {
  const Bytes before = subject.bytes();
  subject.deliver(packet);
  CHECK(describe(subject.transmit()) == Lines{answer});
  CHECK(subject.bytes() == before);
  CHECK(subject.qp().state() == QueuePairState::error);
}

constexpr auto kAccess = "NAK Remote Access Error psn 500 msn 0";
constexpr auto kInvalid = "NAK Invalid Request psn 500 msn 0";

}  // namespace

// ---------------------------------------------------------------- ATOMIC WRITE, requester

TEST_CASE("A19 ATOMIC WRITE is one packet with eight bytes, completed by an empty READ response") {
  Subject subject;
  atomic_write_from(subject, 7, 16);
  const Packet packet = subject.transmit_one();
  CHECK(describe(packet) == "RC ATOMIC WRITE psn 1000 ackreq 8 B");
  CHECK(packet.headers.reth.virtual_address == 0x1000);
  CHECK(packet.headers.reth.remote_key == 0xabcd);
  CHECK(packet.headers.reth.dma_length == 8);
  CHECK(packet.payload == Bytes(subject.bytes().begin() + 16, subject.bytes().begin() + 24));
  CHECK(subject.sent().empty());
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, {}, 1));
  const auto sent = subject.sent();
  CHECK(describe(sent) == Lines{"7 success"});
  CHECK(sent[0].operation == CompletionOperation::atomic_write);
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("A19 ATOMIC WRITE of another length than eight ends in local length error") {
  for (const std::uint32_t length : {0u, 1u, 7u, 9u, 16u}) {
    Subject subject;
    atomic_write_from(subject, 7, 16, length);
    CHECK(subject.transmit().empty());
    CHECK(describe(subject.sent()) == Lines{"7 local length error"});
  }
}

TEST_CASE("A19 An ATOMIC WRITE's answer with payload, or of several packets, is a bad response") {
  for (const auto& answer :
       {read_response(Opcode::rc_read_response_only, 1000, pattern(4)),
        read_response(Opcode::rc_read_response_first, 1000, pattern(256)),
        read_response(Opcode::rc_read_response_last, 1000, {}), atomic_response(1000, 5)}) {
    Subject subject;
    atomic_write_from(subject, 7, 0);
    subject.transmit();
    subject.deliver(answer);
    CHECK(describe(subject.sent()) == Lines{"7 bad response error"});
  }
}

TEST_CASE("A19 A later acknowledgement says that an ATOMIC WRITE's answer is lost") {
  Subject subject;
  atomic_write_from(subject, 7, 0);
  subject.post(SendOperation::send, 8, 0, 4);
  CHECK(subject.transmit().size() == 2);
  subject.deliver(acknowledge(1001, 2));
  CHECK(subject.counters().implied_nak_seq_err == 1);
  CHECK(describe(subject.transmit()) ==
        Lines{"RC ATOMIC WRITE psn 1000 ackreq 8 B", "RC SEND Only psn 1001 ackreq 4 B"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, {}, 2));
  subject.deliver(acknowledge(1001, 2));
  CHECK(describe(subject.sent()) == Lines{"7 success", "8 success"});
}

TEST_CASE("A19 ATOMIC WRITE and FLUSH count towards the initiator depth and obey the fence") {
  Subject subject(Setup().with([](auto& a) { a.max_rd_atomic = 2; }));
  atomic_write_from(subject, 1, 0);
  post_flush(subject, 2, 64);
  subject.post(SendOperation::rdma_read, 3, 0, 8);
  CHECK(describe(subject.transmit()) ==
        Lines{"RC ATOMIC WRITE psn 1000 ackreq 8 B", "RC FLUSH psn 1001 ackreq"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, {}));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1002 ackreq"});
  subject.post(SendOperation::send, 4, 0, 4, [](auto& request) { request.fence = true; });
  CHECK(subject.transmit().empty());
  subject.deliver(read_response(Opcode::rc_read_response_only, 1001, {}));
  CHECK(subject.transmit().empty());
  subject.deliver(read_response(Opcode::rc_read_response_only, 1002, pattern(8)));
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only psn 1003 ackreq 4 B"});
}

TEST_CASE("A19 Where no responses are agreed, ATOMIC WRITE and FLUSH end in an error") {
  for (const bool flushes : {false, true}) {
    Subject subject(Setup().with([](auto& a) { a.max_rd_atomic = 0; }));
    if (flushes) {
      post_flush(subject, 1, 64);
    } else {
      atomic_write_from(subject, 1, 0);
    }
    CHECK(subject.transmit().empty());
    CHECK(describe(subject.sent()) == Lines{"1 local QP operation error"});
  }
}

// ---------------------------------------------------------------- FLUSH, requester

TEST_CASE("A19 FLUSH names range, level and placement, and has no payload") {
  struct Case {
    std::uint8_t placement;
    bool all;
  };
  for (const Case c :
       {Case{transport::kGlobalVisibility, false}, Case{transport::kPersistence, true},
        Case{transport::kGlobalVisibility | transport::kPersistence, false}}) {
    Subject subject;
    post_flush(subject, 7, 3000, c.placement, c.all);
    const Packet packet = subject.transmit_one();
    CHECK(describe(packet) == "RC FLUSH psn 1000 ackreq");
    CHECK(packet.headers.feth == Feth{0, c.all, c.placement});
    CHECK(packet.headers.reth == wire::Reth{0x1000, 0xabcd, 3000});
    CHECK(packet.payload.empty());
    subject.deliver(read_response(Opcode::rc_read_response_only, 1000, {}, 1));
    const auto sent = subject.sent();
    CHECK(describe(sent) == Lines{"7 success"});
    CHECK(sent[0].operation == CompletionOperation::flush);
  }
}

TEST_CASE("A19 A FLUSH takes one PSN however long its range") {
  Subject subject;
  post_flush(subject, 1, std::uint64_t{1} << 31);
  subject.post(SendOperation::send, 2, 0, 4);
  CHECK(describe(subject.transmit()) ==
        Lines{"RC FLUSH psn 1000 ackreq", "RC SEND Only psn 1001 ackreq 4 B"});
}

TEST_CASE("A19 A FLUSH that asks for nothing, or is too long, ends in an error") {
  Subject nothing, unknown, longer;
  post_flush(nothing, 1, 64, 0);
  post_flush(unknown, 1, 64, 4);
  post_flush(longer, 1, (std::uint64_t{1} << 31) + 1);
  for (Subject* subject : {&nothing, &unknown, &longer}) CHECK(subject->transmit().empty());
  CHECK(describe(nothing.sent()) == Lines{"1 local QP operation error"});
  CHECK(describe(unknown.sent()) == Lines{"1 local QP operation error"});
  CHECK(describe(longer.sent()) == Lines{"1 local length error"});
}

TEST_CASE("A19 A FLUSH whose answer does not come is sent again") {
  Subject subject;
  post_flush(subject, 7, 64);
  subject.transmit();
  REQUIRE(subject.pass_deadline());
  CHECK(describe(subject.transmit()) == Lines{"RC FLUSH psn 1000 ackreq"});
  subject.deliver(read_response(Opcode::rc_read_response_only, 1000, {}, 1));
  CHECK(describe(subject.sent()) == Lines{"7 success"});
}

TEST_CASE("A19 UC and UD have neither") {
  for (const auto service :
       {wire::Service::unreliable_connection, wire::Service::unreliable_datagram}) {
    Setup setup;
    setup.service = service;
    Subject subject(setup);
    for (const auto operation : {SendOperation::atomic_write, SendOperation::flush}) {
      transport::SendRequest request;
      request.operation = operation;
      request.address_handle = 1;
      CHECK(subject.qp().post_send(request) == PostError::bad_operation);
    }
  }
}

// ---------------------------------------------------------------- ATOMIC WRITE, responder

TEST_CASE("A19 An ATOMIC WRITE is placed and answered by an empty READ response") {
  Subject subject;
  const Bytes value = pattern(8, 150);
  subject.deliver(atomic_write(500, Subject::kBase + 32, subject.key(), value));
  const Packet answer = subject.transmit_one();
  CHECK(describe(answer) == "RC RDMA READ response Only psn 500 msn 1 0 B");
  CHECK(answer.headers.aeth.syndrome.raw() == 0x1f);
  CHECK(Bytes(subject.bytes().begin() + 32, subject.bytes().begin() + 40) == value);
  subject.deliver(read_request(501, Subject::kBase, subject.key(), 4));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 501 msn 2 4 B"});
}

TEST_CASE("A19 A duplicate ATOMIC WRITE is answered, not executed") {
  Subject subject;
  const Packet first = atomic_write(500, Subject::kBase, subject.key(), pattern(8, 1));
  subject.deliver(first);
  subject.deliver(atomic_write(501, Subject::kBase, subject.key(), pattern(8, 99)));
  CHECK(subject.transmit().size() == 2);
  subject.deliver(first);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 500 msn 2 0 B"});
  CHECK(Bytes(subject.bytes().begin(), subject.bytes().begin() + 8) == pattern(8, 99));
}

TEST_CASE("A19 An ATOMIC WRITE that is not aligned or not of eight bytes: NAK invalid request") {
  Subject misaligned, shorter, longer, announced;
  check_refused(misaligned,
                atomic_write(500, Subject::kBase + 4, misaligned.key(), pattern(8, 200)), kInvalid);
  check_refused(shorter, atomic_write(500, Subject::kBase, shorter.key(), pattern(7, 200)),
                kInvalid);
  check_refused(longer, atomic_write(500, Subject::kBase, longer.key(), pattern(9, 200)), kInvalid);
  Packet packet = atomic_write(500, Subject::kBase, announced.key(), pattern(8, 200));
  packet.headers.reth.dma_length = 16;
  check_refused(announced, packet, kInvalid);
}

TEST_CASE("A19 An ATOMIC WRITE needs the right to write, of queue pair and region") {
  Subject no_right(Setup().with([](auto& a) { a.remote_access = transport::kRemoteAtomic; }));
  check_refused(no_right, atomic_write(500, Subject::kBase, no_right.key(), pattern(8, 200)),
                kInvalid);
  Subject region;
  const auto keys =
      region.add_region(Subject::kDomain, transport::kLocalWrite | transport::kRemoteAtomic);
  check_refused(region, atomic_write(500, Subject::kBase, keys.remote, pattern(8, 200)), kAccess);
  Subject bad_key, end;
  check_refused(bad_key, atomic_write(500, Subject::kBase, bad_key.key() ^ 1, pattern(8, 200)),
                kAccess);
  check_refused(end, atomic_write(500, Subject::kBase + Subject::kSize, end.key(), pattern(8, 200)),
                kAccess);
  Subject none(Setup().with([](auto& a) { a.max_dest_rd_atomic = 0; }));
  check_refused(none, atomic_write(500, Subject::kBase, none.key(), pattern(8, 200)), kInvalid);
}

// ---------------------------------------------------------------- FLUSH, responder

TEST_CASE("A19 A FLUSH is answered by an empty READ response, behind what came before it") {
  Subject subject(with_flush());
  const auto keys = subject.add_region(Subject::kDomain, kAll);
  subject.deliver(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, keys.remote, 4, pattern(4, 77)));
  subject.deliver(read_request(501, Subject::kBase, keys.remote, 300));
  subject.deliver(flush(503, Subject::kBase, keys.remote, 4, Feth::kGlobalVisibility));
  subject.deliver(atomic_write(504, Subject::kBase + 8, keys.remote, pattern(8, 88)));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response First psn 501 msn 2 256 B",
                                              "RC RDMA READ response Last psn 502 msn 2 44 B",
                                              "RC RDMA READ response Only psn 503 msn 3 0 B",
                                              "RC RDMA READ response Only psn 504 msn 4 0 B"});
  CHECK(subject.bytes()[0] == std::byte{77});
  CHECK(subject.bytes()[8] == std::byte{88});
}

TEST_CASE("A19 A FLUSH of the whole region looks at the key alone") {
  Subject subject(with_flush());
  const auto keys = subject.add_region(Subject::kDomain, kFlushes);
  subject.deliver(flush(500, 0xbad, keys.remote, 0xffffffff,
                        Feth::kGlobalVisibility | Feth::kPersistence, Feth::kWholeRegion));
  subject.deliver(flush(501, Subject::kBase, keys.remote, 0, Feth::kPersistence));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 500 msn 1 0 B",
                                              "RC RDMA READ response Only psn 501 msn 2 0 B"});
}

TEST_CASE("A19 A FLUSH with unknown placement or selectivity: NAK invalid request") {
  for (const auto placement : std::initializer_list<std::uint8_t>{0, 4, 5, 8, 15}) {
    Subject subject(with_flush());
    const auto keys = subject.add_region(Subject::kDomain, kAll);
    check_refused(subject, flush(500, Subject::kBase, keys.remote, 8, placement), kInvalid);
  }
  for (const auto selectivity : std::initializer_list<std::uint8_t>{2, 3}) {
    Subject subject(with_flush());
    const auto keys = subject.add_region(Subject::kDomain, kAll);
    check_refused(subject,
                  flush(500, Subject::kBase, keys.remote, 8, Feth::kPersistence, selectivity),
                  kInvalid);
  }
}

TEST_CASE("A19 A FLUSH needs the right to each placement it asks for") {
  constexpr std::uint8_t kBoth = Feth::kGlobalVisibility | Feth::kPersistence;
  Subject none;  // the queue pair grants no flush
  check_refused(none, flush(500, Subject::kBase, none.key(), 8, Feth::kGlobalVisibility), kInvalid);
  Subject one(Setup().with([](auto& a) { a.remote_access = transport::kFlushGlobal; }));
  check_refused(one, flush(500, Subject::kBase, one.key(), 8, kBoth), kInvalid);
  for (const std::uint32_t granted :
       {std::uint32_t{transport::kFlushGlobal}, std::uint32_t{transport::kFlushPersistent}}) {
    Subject both(with_flush()), other(with_flush());
    const auto wrong =
        granted == transport::kFlushGlobal ? Feth::kPersistence : Feth::kGlobalVisibility;
    check_refused(
        both,
        flush(500, Subject::kBase, both.add_region(Subject::kDomain, granted).remote, 8, kBoth),
        kAccess);
    check_refused(
        other,
        flush(500, Subject::kBase, other.add_region(Subject::kDomain, granted).remote, 8, wrong),
        kAccess);
  }
}

TEST_CASE("A19 A FLUSH of a bad key, another domain's or beyond the region: NAK access error") {
  const auto refused = [](const std::function<Packet(Subject&, std::uint32_t)>& make) {
    Subject subject(with_flush());
    const auto keys = subject.add_region(Subject::kDomain, kAll);
    check_refused(subject, make(subject, keys.remote), kAccess);
  };
  refused([](Subject&, std::uint32_t key) {
    return flush(500, Subject::kBase, key ^ 1, 8, Feth::kPersistence);
  });
  refused([](Subject&, std::uint32_t key) {
    return flush(500, Subject::kBase, key ^ 1, 0, Feth::kPersistence, Feth::kWholeRegion);
  });
  refused([](Subject& s, std::uint32_t) {
    return flush(500, Subject::kBase, s.add_region(Subject::kOtherDomain, kAll).remote, 8,
                 Feth::kPersistence);
  });
  refused([](Subject&, std::uint32_t key) {
    return flush(500, Subject::kBase + 1, key, Subject::kSize, Feth::kGlobalVisibility);
  });
  refused([](Subject&, std::uint32_t key) {
    return flush(500, Subject::kBase - 1, key, 0, Feth::kGlobalVisibility);
  });
}

TEST_CASE("A19 A FLUSH of more than 2^31 bytes, or with payload: NAK invalid request") {
  Subject longer(with_flush()), payload(with_flush());
  check_refused(longer,
                flush(500, Subject::kBase, longer.add_region(Subject::kDomain, kAll).remote,
                      0x80000001, Feth::kGlobalVisibility),
                kInvalid);
  Packet packet = flush(500, Subject::kBase, payload.add_region(Subject::kDomain, kAll).remote, 4,
                        Feth::kGlobalVisibility);
  packet.payload = pattern(4);
  check_refused(payload, packet, kInvalid);
}

TEST_CASE("A19 A duplicate FLUSH is answered again, any number of them do no harm") {
  Subject subject(with_flush());
  const auto keys = subject.add_region(Subject::kDomain, kAll);
  const Packet first = flush(500, Subject::kBase, keys.remote, 8, Feth::kGlobalVisibility);
  subject.deliver(first);
  CHECK(subject.transmit().size() == 1);
  subject.deliver(first);
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 500 msn 1 0 B"});
  // More than the agreed depth at once: they do not count towards it, nor keep others out.
  for (std::uint32_t i = 1; i < 200; ++i) {
    subject.deliver(flush(500 + i, Subject::kBase, keys.remote, 8, Feth::kGlobalVisibility));
  }
  subject.deliver(fetch_add(700, Subject::kBase, keys.remote, 1));
  const auto answers = describe(subject.transmit());
  CHECK(answers.back() == "RC ATOMIC Acknowledge psn 700 msn 201");
  // One whose answer found no room is answered when it comes again.
  subject.deliver(flush(699, Subject::kBase, keys.remote, 8, Feth::kGlobalVisibility));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 699 msn 201 0 B"});
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
}

}  // namespace softrnic::conformance
