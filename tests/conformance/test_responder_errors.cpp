// SPDX-License-Identifier: BSD-3-Clause
// Requests that break a rule: the right NAK, no byte moved, the queue pair in ERR (9.9.3).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::QueuePairState;
using wire::Opcode;

namespace {

void check_refused(Subject& subject, const Packet& packet, const std::string& answer) {
  const Bytes before = subject.bytes();
  subject.deliver(packet);
  CHECK(describe(subject.transmit()) == Lines{answer});
  CHECK(subject.bytes() == before);
  CHECK(subject.qp().state() == QueuePairState::error);
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

constexpr auto kAccess = "NAK Remote Access Error psn 500 msn 0";
constexpr auto kInvalid = "NAK Invalid Request psn 500 msn 0";

Packet write_of(Subject& subject, std::uint64_t address, std::uint32_t key, std::uint32_t length) {
  (void)subject;
  return length <= kPathMtu
             ? write_request(Opcode::rc_write_only, 500, address, key, length, pattern(length, 200))
                   .with_ack_request()
             : write_request(Opcode::rc_write_first, 500, address, key, length,
                             pattern(kPathMtu, 200));
}

}  // namespace

TEST_CASE("9.7.4.1.5 A wrong R_Key: NAK remote access error") {
  for (const std::uint32_t flip : {1u, 0x100u, 0x80000000u}) {
    Subject write, read, atomic;
    check_refused(write, write_of(write, Subject::kBase, write.key() ^ flip, 8), kAccess);
    check_refused(read, read_request(500, Subject::kBase, read.key() ^ flip, 8), kAccess);
    check_refused(atomic, fetch_add(500, Subject::kBase, atomic.key() ^ flip, 1), kAccess);
  }
}

TEST_CASE("9.7.4.1.5 A region of another protection domain: NAK remote access error") {
  constexpr std::uint32_t kAll = transport::kLocalWrite | transport::kRemoteWrite |
                                 transport::kRemoteRead | transport::kRemoteAtomic;
  Subject write, read, atomic;
  const auto key = [](Subject& s) { return s.add_region(Subject::kOtherDomain, kAll).remote; };
  check_refused(write, write_of(write, Subject::kBase, key(write), 8), kAccess);
  check_refused(read, read_request(500, Subject::kBase, key(read), 8), kAccess);
  check_refused(atomic, fetch_add(500, Subject::kBase, key(atomic), 1), kAccess);
}

TEST_CASE("9.7.4.1.5 A region without the right: NAK remote access error") {
  using namespace transport;
  Subject write, read, atomic;
  const auto key = [](Subject& s, std::uint32_t access) {
    return s.add_region(Subject::kDomain, access).remote;
  };
  check_refused(write, write_of(write, Subject::kBase, key(write, kRemoteRead), 8), kAccess);
  check_refused(read, read_request(500, Subject::kBase, key(read, kLocalWrite | kRemoteWrite), 8),
                kAccess);
  check_refused(
      atomic,
      fetch_add(500, Subject::kBase, key(atomic, kLocalWrite | kRemoteWrite | kRemoteRead), 1),
      kAccess);
}

TEST_CASE("9.7.4.1.5 A range that leaves the region at either end: NAK remote access error") {
  const std::uint64_t end = Subject::kBase + Subject::kSize;
  struct Range {
    std::uint64_t address;
    std::uint32_t length;
  };
  for (const Range range :
       {Range{end - 7, 8}, Range{end, 1}, Range{Subject::kBase - 1, 8},
        Range{Subject::kBase, 65537}, Range{~std::uint64_t{0} - 3, 8},
        Range{~std::uint64_t{0}, 0x40000000}, Range{0, 1}, Range{Subject::kBase + 1, 0x7fffffff}}) {
    Subject write, read;
    check_refused(write, write_of(write, range.address, write.key(), range.length), kAccess);
    check_refused(read, read_request(500, range.address, read.key(), range.length), kAccess);
  }
  Subject atomic;
  check_refused(atomic, fetch_add(500, end, atomic.key(), 1), kAccess);
  // The last bytes are still inside.
  Subject inside;
  inside.deliver(write_of(inside, end - 8, inside.key(), 8));
  inside.deliver(read_request(501, end - 8, inside.key(), 8));
  inside.deliver(fetch_add(502, end - 8, inside.key(), 1));
  CHECK(inside.transmit().size() == 3);
}

TEST_CASE("9.7.4.1.5 A region that has been taken away: NAK remote access error") {
  Subject subject;
  const auto keys = subject.add_region(Subject::kDomain, transport::kRemoteRead);
  subject.deliver(read_request(500, Subject::kBase, keys.remote, 8));
  CHECK(subject.transmit().size() == 1);
  REQUIRE(subject.memory().remove(keys.local));
  check_refused(subject, read_request(501, Subject::kBase, keys.remote, 8),
                "NAK Remote Access Error psn 501 msn 1");
}

TEST_CASE("9.7.4.1.3 A kind of access that the queue pair does not allow: NAK invalid request") {
  using namespace transport;
  const auto allowing = [](std::uint32_t access) {
    return Setup().with([=](auto& a) { a.remote_access = access; });
  };
  Subject write(allowing(kRemoteRead | kRemoteAtomic));
  check_refused(write, write_of(write, Subject::kBase, write.key(), 8), kInvalid);
  Subject read(allowing(kRemoteWrite | kRemoteAtomic));
  check_refused(read, read_request(500, Subject::kBase, read.key(), 8), kInvalid);
  Subject atomic(allowing(kRemoteWrite | kRemoteRead));
  check_refused(atomic, fetch_add(500, Subject::kBase, atomic.key(), 1), kInvalid);
}

TEST_CASE("9.4.5 An atomic on a misaligned address: NAK invalid request") {
  for (unsigned shift = 1; shift < 8; ++shift) {
    Subject add, swap;
    check_refused(add, fetch_add(500, Subject::kBase + shift, add.key(), 1), kInvalid);
    check_refused(swap, compare_swap(500, Subject::kBase + shift, swap.key(), 0, 1), kInvalid);
  }
}

TEST_CASE("9.7.4.1.2 A message that does not go on as it began: NAK invalid request") {
  using enum Opcode;
  struct Sequence {
    Opcode first;  // rc_acknowledge: nothing before
    Opcode second;
  };
  for (const Sequence s : {Sequence{rc_acknowledge, rc_send_middle},
                           {rc_acknowledge, rc_send_last},
                           {rc_acknowledge, rc_write_middle},
                           {rc_acknowledge, rc_write_last},
                           {rc_acknowledge, rc_send_last_immediate},
                           {rc_acknowledge, rc_write_last_immediate},
                           {rc_send_first, rc_send_first},
                           {rc_send_first, rc_send_only},
                           {rc_send_first, rc_write_middle},
                           {rc_send_first, rc_write_last},
                           {rc_send_first, rc_write_only},
                           {rc_send_first, rc_read_request},
                           {rc_send_first, rc_fetch_add},
                           {rc_write_first, rc_write_first},
                           {rc_write_first, rc_write_only},
                           {rc_write_first, rc_send_middle},
                           {rc_write_first, rc_send_last},
                           {rc_write_first, rc_send_only},
                           {rc_write_first, rc_read_request},
                           {rc_write_first, rc_compare_swap}}) {
    Subject subject;
    subject.post_receive(1, 0, 4096);
    subject.post_receive(2, 0, 4096);
    std::uint32_t psn = 500;
    INFO(wire::info(s.first).name << ", then " << wire::info(s.second).name);
    if (s.first != rc_acknowledge) {
      subject.deliver(write_request(s.first, psn++, Subject::kBase + 4096, subject.key(), 1024,
                                    pattern(256, 8)));
      CHECK(subject.transmit().empty());
    }
    const bool carries = wire::info(s.second).carries_payload;
    Packet second = write_request(s.second, psn, Subject::kBase + 4096, subject.key(), 256,
                                  carries ? pattern(256, 9) : Bytes{});
    second.headers.atomic_eth = {Subject::kBase + 4096, subject.key(), 1, 0};
    check_refused(subject, second, psn == 500 ? kInvalid : "NAK Invalid Request psn 501 msn 0");
  }
}

TEST_CASE("9.7.4.1.6 First and middle packets that are not full: NAK invalid request") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{255}, std::size_t{257}}) {
    Subject send, write, middle;
    for (Subject* each : {&send, &write, &middle}) each->post_receive(1, 0, 4096);
    check_refused(send, request(Opcode::rc_send_first, 500, pattern(size)), kInvalid);
    check_refused(write,
                  write_request(Opcode::rc_write_first, 500, Subject::kBase, write.key(), 1024,
                                pattern(size)),
                  kInvalid);
    middle.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
    check_refused(middle, request(Opcode::rc_send_middle, 501, pattern(size)),
                  "NAK Invalid Request psn 501 msn 0");
  }
}

TEST_CASE("9.7.4.1.6 Last packets of nothing or of more than the path MTU: NAK invalid request") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{257}}) {
    Subject send, write;
    send.post_receive(1, 0, 4096);
    send.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
    check_refused(send, request(Opcode::rc_send_last, 501, pattern(size)),
                  "NAK Invalid Request psn 501 msn 0");
    write.deliver(write_request(Opcode::rc_write_first, 500, Subject::kBase, write.key(),
                                static_cast<std::uint32_t>(256 + size), pattern(256)));
    check_refused(write, request(Opcode::rc_write_last, 501, pattern(size)),
                  "NAK Invalid Request psn 501 msn 0");
  }
}

TEST_CASE("9.7.4.1.6 An only packet of more than the path MTU: NAK invalid request") {
  Subject send, write;
  send.post_receive(1, 0, 4096);
  check_refused(send, send_only(500, pattern(257)), kInvalid);
  check_refused(
      write,
      write_request(Opcode::rc_write_only, 500, Subject::kBase, write.key(), 257, pattern(257)),
      kInvalid);
}

TEST_CASE("9.7.4.1.6 A WRITE shorter or longer than its RETH says: NAK invalid request") {
  Subject shorter, longer, only, middle;
  check_refused(
      only,
      write_request(Opcode::rc_write_only, 500, Subject::kBase, only.key(), 9, pattern(8, 200)),
      kInvalid);
  shorter.deliver(
      write_request(Opcode::rc_write_first, 500, Subject::kBase, shorter.key(), 300, pattern(256)));
  check_refused(shorter, request(Opcode::rc_write_last, 501, pattern(43, 200)),
                "NAK Invalid Request psn 501 msn 0");
  longer.deliver(
      write_request(Opcode::rc_write_first, 500, Subject::kBase, longer.key(), 300, pattern(256)));
  check_refused(longer, request(Opcode::rc_write_last, 501, pattern(45, 200)),
                "NAK Invalid Request psn 501 msn 0");
  middle.deliver(
      write_request(Opcode::rc_write_first, 500, Subject::kBase, middle.key(), 300, pattern(256)));
  check_refused(middle, request(Opcode::rc_write_middle, 501, pattern(256, 200)),
                "NAK Invalid Request psn 501 msn 0");
}

TEST_CASE("9.7.4.1.6 A message of more than 2^31 bytes: NAK invalid request") {
  Subject write, read;
  check_refused(write, write_of(write, Subject::kBase, write.key(), 0x80000001), kInvalid);
  check_refused(read, read_request(500, Subject::kBase, read.key(), 0x80000001), kInvalid);
}

TEST_CASE("9.7.4.1.6 A SEND longer than its receive: NAK invalid request, local length error") {
  Subject subject;
  subject.post_receive(1, 0, 299);
  subject.post_receive(2, 4096, 64);
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(256)));
  subject.deliver(request(Opcode::rc_send_last, 501, pattern(44)).with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"NAK Invalid Request psn 501 msn 0"});
  CHECK(describe(subject.received()) ==
        Lines{"1 local length error", "2 Work Request Flushed Error"});
  CHECK(subject.qp().state() == QueuePairState::error);
}

TEST_CASE("9.7.4.1.7 A receive into memory that is not the user's: NAK remote operational error") {
  Subject subject;
  const auto read_only = subject.add_region(Subject::kDomain, transport::kRemoteRead);
  const transport::Sge sge{Subject::kBase, 64, read_only.local};
  REQUIRE_FALSE(subject.qp().post_receive({1, {&sge, 1}}).has_value());
  subject.post_receive(2, 4096, 64);
  check_refused(subject, send_only(500, pattern(8)), "NAK Remote Operational Error psn 500 msn 0");
  CHECK(describe(subject.received()) ==
        Lines{"1 local protection error", "2 Work Request Flushed Error"});
}

TEST_CASE("9.7.4.1.4 More READs and atomics at once than agreed: NAK invalid request") {
  Subject subject(Setup().with([](auto& a) { a.max_dest_rd_atomic = 2; }));
  for (std::uint32_t i = 0; i < 3; ++i) {
    subject.deliver(read_request(500 + i, Subject::kBase, subject.key(), 8));
  }
  const auto answers = describe(subject.transmit());
  REQUIRE_FALSE(answers.empty());
  CHECK(answers.back() == "NAK Invalid Request psn 502 msn 2");
  Subject none(Setup().with([](auto& a) { a.max_dest_rd_atomic = 0; }));
  check_refused(none, fetch_add(500, Subject::kBase, none.key(), 1), kInvalid);
}

TEST_CASE("9.9.3 Answers already due leave before the NAK, and nothing is executed after it") {
  Subject subject;
  const Bytes before = subject.bytes();
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 300));
  subject.deliver(read_request(502, Subject::kBase, subject.key() ^ 1, 8));
  subject.deliver(
      write_request(Opcode::rc_write_only, 503, Subject::kBase, subject.key(), 4, pattern(4, 222))
          .with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response First psn 500 msn 1 256 B",
                                              "RC RDMA READ response Last psn 501 msn 1 44 B",
                                              "NAK Remote Access Error psn 502 msn 1"});
  CHECK(subject.bytes() == before);
}

}  // namespace softrnic::conformance
