// SPDX-License-Identifier: BSD-3-Clause
// The RC responder's answers to READs and atomics, the first time and again.
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using wire::Opcode;

namespace {

Bytes payload_of(const std::vector<Packet>& packets) {
  Bytes all;
  for (const Packet& packet : packets) {
    all.insert(all.end(), packet.payload.begin(), packet.payload.end());
  }
  return all;
}

Bytes memory_of(Subject& subject, std::size_t offset, std::size_t length) {
  const auto from = subject.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace

TEST_CASE("9.7.5.1.3 A READ of nothing is answered by one empty response") {
  Subject subject;
  subject.deliver(read_request(500, 0xbad, 0xbad, 0));  // 9.7.5.2.5: the key is not looked at
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 500 msn 1 0 B"});
}

TEST_CASE("9.7.5.1.3 A READ of one byte") {
  Subject subject;
  subject.deliver(read_request(500, Subject::kBase + 3, subject.key(), 1));
  const Packet answer = subject.transmit_one();
  CHECK(describe(answer) == "RC RDMA READ response Only psn 500 msn 1 1 B");
  CHECK(answer.bth().pad_count == 3);
  CHECK(answer.headers.aeth.syndrome.raw() == 0x1f);
  CHECK(answer.payload == memory_of(subject, 3, 1));
}

TEST_CASE("9.7.5.1.3 A READ of exactly one path MTU") {
  Subject subject;
  subject.deliver(read_request(500, Subject::kBase, subject.key(), kPathMtu));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 500 msn 1 256 B"});
}

TEST_CASE("9.7.5.1.3 A READ of one byte more than the path MTU takes two PSNs") {
  Subject subject;
  subject.deliver(read_request(500, Subject::kBase, subject.key(), kPathMtu + 1));
  const auto answers = subject.transmit();
  CHECK(describe(answers) == Lines{"RC RDMA READ response First psn 500 msn 1 256 B",
                                   "RC RDMA READ response Last psn 501 msn 1 1 B"});
  CHECK(payload_of(answers) == memory_of(subject, 0, 257));
  subject.deliver(
      write_request(Opcode::rc_write_only, 502, Subject::kBase, subject.key(), 4, pattern(4))
          .with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 502 msn 2"});
}

TEST_CASE("9.7.5.1.3 Middle responses carry no AETH, and the PSN wraps within a READ") {
  Subject subject(Setup().with([](auto& a) { a.receive_psn = wire::Psn(0xfffffe); }));
  subject.deliver(read_request(0xfffffe, Subject::kBase, subject.key(), 4 * kPathMtu));
  const auto answers = subject.transmit();
  CHECK(describe(answers) == Lines{"RC RDMA READ response First psn 16777214 msn 1 256 B",
                                   "RC RDMA READ response Middle psn 16777215 256 B",
                                   "RC RDMA READ response Middle psn 0 256 B",
                                   "RC RDMA READ response Last psn 1 msn 1 256 B"});
  CHECK(payload_of(answers) == memory_of(subject, 0, 1024));
}

TEST_CASE("9.5 Answers leave in the order of their requests") {
  Subject subject;
  subject.post_receive(1, 8192, 64);
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 300));
  subject.deliver(send_only(502, pattern(4)));
  subject.deliver(fetch_add(503, Subject::kBase, subject.key(), 1));
  subject.deliver(read_request(504, Subject::kBase, subject.key(), 4));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response First psn 500 msn 1 256 B",
                                              "RC RDMA READ response Last psn 501 msn 1 44 B",
                                              "ACK psn 502 msn 2",
                                              "RC ATOMIC Acknowledge psn 503 msn 3",
                                              "RC RDMA READ response Only psn 504 msn 4 4 B"});
}

TEST_CASE("9.7.5.1.5 A duplicate READ is answered again, with what memory holds then") {
  Subject subject;
  const Packet read = read_request(500, Subject::kBase, subject.key(), 300);
  subject.deliver(read);
  CHECK(subject.transmit().size() == 2);
  subject.bytes()[0] = std::byte{0xee};
  subject.deliver(read);
  const auto again = subject.transmit();
  CHECK(describe(again) == Lines{"RC RDMA READ response First psn 500 msn 1 256 B",
                                 "RC RDMA READ response Last psn 501 msn 1 44 B"});
  CHECK(payload_of(again) == memory_of(subject, 0, 300));
}

TEST_CASE("9.7.5.1.5 A duplicate READ may begin in the middle of the first one's PSNs") {
  Subject subject;
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 4 * kPathMtu));
  subject.transmit();
  subject.deliver(read_request(502, Subject::kBase + 512, subject.key(), 512));
  const auto again = subject.transmit();
  CHECK(describe(again) == Lines{"RC RDMA READ response First psn 502 msn 1 256 B",
                                 "RC RDMA READ response Last psn 503 msn 1 256 B"});
  CHECK(payload_of(again) == memory_of(subject, 512, 512));
  subject.deliver(read_request(503, Subject::kBase + 768, subject.key(), 256));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 503 msn 1 256 B"});
}

TEST_CASE("9.7.5.1.5 A duplicate READ of other memory than the first is dropped") {
  Subject subject;
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 2 * kPathMtu));
  subject.transmit();
  const auto other = subject.add_region(Subject::kDomain, transport::kRemoteRead);
  subject.deliver(read_request(500, Subject::kBase + 4, subject.key(), 2 * kPathMtu));
  subject.deliver(read_request(500, Subject::kBase, other.remote, 2 * kPathMtu));
  subject.deliver(read_request(501, Subject::kBase, subject.key(), kPathMtu));
  subject.deliver(read_request(501, Subject::kBase + 256, subject.key(), 2 * kPathMtu));
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().state() == transport::QueuePairState::ready_to_send);
}

TEST_CASE("9.7.5.1.5 READs are remembered as far back as the agreed depth") {
  Subject subject(Setup().with([](auto& a) { a.max_dest_rd_atomic = 2; }));
  for (std::uint32_t i = 0; i < 3; ++i) {
    subject.deliver(read_request(500 + i, Subject::kBase + 8 * i, subject.key(), 8));
    CHECK(subject.transmit().size() == 1);
  }
  subject.deliver(read_request(501, Subject::kBase + 8, subject.key(), 8));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 501 msn 3 8 B"});
  subject.deliver(read_request(500, Subject::kBase, subject.key(), 8));
  CHECK(subject.transmit().empty());
}

TEST_CASE("9.7.5.1.5 A duplicate atomic gets the first answer and is not executed again") {
  Subject subject;
  subject.set_word(64, 100);
  const Packet add = fetch_add(500, Subject::kBase + 64, subject.key(), 7);
  subject.deliver(add);
  Packet first = subject.transmit_one();
  CHECK(first.headers.atomic_ack_eth.original == 100);
  CHECK(subject.word(64) == 107);
  subject.deliver(add);
  Packet again = subject.transmit_one();
  CHECK(describe(again) == "RC ATOMIC Acknowledge psn 500 msn 1");
  CHECK(again.headers.atomic_ack_eth.original == 100);
  CHECK(subject.word(64) == 107);
}

TEST_CASE("9.7.5.1.5 Every atomic within the depth is remembered with its own answer") {
  Subject subject(Setup().with([](auto& a) { a.max_dest_rd_atomic = 3; }));
  subject.set_word(64, 0);
  for (std::uint32_t i = 0; i < 5; ++i) {
    subject.deliver(fetch_add(500 + i, Subject::kBase + 64, subject.key(), 1));
    subject.transmit();
  }
  for (std::uint32_t i = 2; i < 5; ++i) {
    subject.deliver(fetch_add(500 + i, Subject::kBase + 64, subject.key(), 1));
    CHECK(subject.transmit_one().headers.atomic_ack_eth.original == i);
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    subject.deliver(fetch_add(500 + i, Subject::kBase + 64, subject.key(), 1));
    CHECK(subject.transmit().empty());  // forgotten: dropped, never executed
  }
  CHECK(subject.word(64) == 5);
}

TEST_CASE("9.4.5 COMPARE and SWAP writes only when the comparison holds") {
  Subject subject;
  subject.set_word(64, 5);
  subject.deliver(compare_swap(500, Subject::kBase + 64, subject.key(), 4, 9));
  CHECK(subject.transmit_one().headers.atomic_ack_eth.original == 5);
  CHECK(subject.word(64) == 5);
  subject.deliver(compare_swap(501, Subject::kBase + 64, subject.key(), 5, 9));
  CHECK(subject.transmit_one().headers.atomic_ack_eth.original == 5);
  CHECK(subject.word(64) == 9);
}

TEST_CASE("9.4.5 FETCH and ADD wraps at 2^64") {
  Subject subject;
  subject.set_word(64, ~std::uint64_t{0});
  subject.deliver(fetch_add(500, Subject::kBase + 64, subject.key(), 3));
  CHECK(subject.transmit_one().headers.atomic_ack_eth.original == ~std::uint64_t{0});
  CHECK(subject.word(64) == 2);
}

}  // namespace softrnic::conformance
