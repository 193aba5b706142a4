// SPDX-License-Identifier: BSD-3-Clause
// What the RC requester makes of answers: completion, ghosts, NAKs, implied NAKs.
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::CompletionOperation;
using transport::QueuePairState;
using transport::SendOperation;
using wire::NakCode;
using wire::Opcode;

namespace {

void post_writes(Subject& subject, std::uint64_t count) {
  for (std::uint64_t id = 1; id <= count; ++id) {
    subject.post(SendOperation::rdma_write, id, 0, 4);
  }
}

}  // namespace

TEST_CASE("9.7.6.1 An acknowledgement completes everything up to its PSN") {
  Subject subject;
  post_writes(subject, 4);
  subject.transmit();
  subject.deliver(acknowledge(1002, 3));
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success", "3 success"});
  CHECK(subject.qp().send_queue_depth() == 1);
  subject.deliver(acknowledge(1003, 4));
  CHECK(describe(subject.sent()) == Lines{"4 success"});
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("9.7.6.1 A message completes with the acknowledgement of its last packet") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 3 * kPathMtu);
  subject.transmit();
  subject.deliver(acknowledge(1001, 0));
  CHECK(subject.sent().empty());
  subject.deliver(acknowledge(1002, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
}

TEST_CASE("9.7.6.1 Ghost acknowledgements, of the past or of the future, change nothing") {
  Subject subject;
  post_writes(subject, 2);
  subject.transmit();
  subject.deliver(acknowledge(1000, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  for (const std::uint32_t psn : {1000u, 999u, 1002u, 5000u, 0u, 0xffffffu}) {
    subject.deliver(acknowledge(psn, 2));
    subject.deliver(nak(psn, NakCode::remote_access_error, 2));
    subject.deliver(rnr_nak(psn, 1, 2));
    subject.deliver(read_response(Opcode::rc_read_response_only, psn, pattern(4), 2));
    subject.deliver(atomic_response(psn, 7, 2));
  }
  CHECK(subject.sent().empty());
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
  CHECK(subject.transmit().empty());
  CHECK(subject.counters().unexpected_response == 30);
  subject.deliver(acknowledge(1001, 2));
  CHECK(describe(subject.sent()) == Lines{"2 success"});
}

TEST_CASE("9.7.6.1 Answers to nothing are dropped") {
  Subject subject;
  subject.deliver(acknowledge(kSendPsn - 1));
  subject.deliver(nak(kSendPsn, NakCode::psn_sequence_error));
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
}

TEST_CASE("9.7.6.1 A READ completes with its last response, in the user's memory") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 1024, 600);
  subject.transmit();
  subject.deliver(read_response(Opcode::rc_read_response_first, 1000, pattern(256, 1), 1));
  subject.deliver(read_response(Opcode::rc_read_response_middle, 1001, pattern(256, 2)));
  CHECK(subject.sent().empty());
  subject.deliver(read_response(Opcode::rc_read_response_last, 1002, pattern(88, 3), 1));
  const auto done = subject.sent();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].operation == CompletionOperation::rdma_read);
  CHECK(done[0].byte_length == 600);
  const auto at = subject.bytes().begin() + 1024;
  CHECK(Bytes(at, at + 256) == pattern(256, 1));
  CHECK(Bytes(at + 256, at + 512) == pattern(256, 2));
  CHECK(Bytes(at + 512, at + 600) == pattern(88, 3));
}

TEST_CASE("9.7.6.1 An atomic completes with the value before, in the host's byte order") {
  Subject subject;
  subject.post(SendOperation::fetch_add, 1, 64, 8);
  subject.transmit();
  subject.deliver(atomic_response(1000, 0x0123456789abcdef, 1));
  const auto done = subject.sent();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].operation == CompletionOperation::fetch_add);
  CHECK(done[0].byte_length == 8);
  CHECK(subject.word(64) == 0x0123456789abcdef);
}

TEST_CASE("9.7.6.1 A READ response acknowledges the requests before it") {
  Subject subject;
  post_writes(subject, 2);
  subject.post(SendOperation::rdma_read, 3, 64, 8);
  subject.transmit();
  subject.deliver(read_response(Opcode::rc_read_response_only, 1002, pattern(8), 3));
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success", "3 success"});
}

TEST_CASE("9.7.5.2.8 A sequence NAK acknowledges what is before it and resends from there") {
  Subject subject;
  post_writes(subject, 4);
  subject.transmit();
  subject.deliver(nak(1002, NakCode::psn_sequence_error, 2));
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success"});
  CHECK(describe(subject.transmit()) ==
        Lines{"RC RDMA WRITE Only psn 1002 ackreq 4 B", "RC RDMA WRITE Only psn 1003 ackreq 4 B"});
  CHECK(subject.counters().packet_seq_err == 1);
  CHECK(subject.counters().retransmitted_pkts == 2);
}

TEST_CASE("9.7.5.2.8 A sequence NAK in the middle of a message resends its tail") {
  Subject subject;
  subject.post(SendOperation::rdma_write, 1, 0, 4 * kPathMtu);
  const auto first = subject.transmit();
  subject.deliver(nak(1002, NakCode::psn_sequence_error));
  const auto again = subject.transmit();
  CHECK(describe(again) ==
        Lines{"RC RDMA WRITE Middle psn 1002 256 B", "RC RDMA WRITE Last psn 1003 ackreq 256 B"});
  CHECK(again[0].payload == first[2].payload);
  CHECK(again[1].payload == first[3].payload);
}

TEST_CASE("9.7.6.1 An acknowledgement beyond an unanswered READ is an implied NAK for it") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 300);
  subject.post(SendOperation::rdma_write, 2, 0, 4);
  subject.transmit();
  subject.deliver(read_response(Opcode::rc_read_response_first, 1000, pattern(256), 1));
  subject.deliver(acknowledge(1002, 2));
  CHECK(subject.sent().empty());
  const auto again = subject.transmit();
  CHECK(describe(again) ==
        Lines{"RC RDMA READ Request psn 1001 ackreq", "RC RDMA WRITE Only psn 1002 ackreq 4 B"});
  CHECK(again[0].headers.reth.virtual_address == 0x1000 + 256);  // only what is missing
  CHECK(again[0].headers.reth.dma_length == 44);
  CHECK(subject.counters().implied_nak_seq_err == 1);
  subject.deliver(read_response(Opcode::rc_read_response_only, 1001, pattern(44), 2));
  subject.deliver(acknowledge(1002, 2));
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success"});
}

TEST_CASE("9.7.6.1 A READ response with one missing before it is an implied NAK") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 4 * kPathMtu);
  subject.transmit();
  subject.deliver(read_response(Opcode::rc_read_response_first, 1000, pattern(256), 1));
  subject.deliver(read_response(Opcode::rc_read_response_middle, 1002, pattern(256)));
  subject.deliver(read_response(Opcode::rc_read_response_last, 1003, pattern(256), 1));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ Request psn 1001 ackreq"});
  CHECK(subject.counters().implied_nak_seq_err == 1);  // once for all that came after the gap
}

TEST_CASE("9.7.6.1 An atomic answer beyond an unanswered atomic is an implied NAK") {
  Subject subject;
  subject.post(SendOperation::fetch_add, 1, 0, 8);
  subject.post(SendOperation::fetch_add, 2, 8, 8);
  subject.transmit();
  subject.deliver(atomic_response(1001, 5, 2));
  CHECK(subject.sent().empty());
  CHECK(describe(subject.transmit()) ==
        Lines{"RC FetchAdd psn 1000 ackreq", "RC FetchAdd psn 1001 ackreq"});
}

TEST_CASE("9.9.2 NAKs that end the connection complete the request with their error") {
  struct Ending {
    NakCode code;
    const char* status;
  };
  for (const Ending ending :
       {Ending{NakCode::invalid_request, "2 remote invalid request error"},
        Ending{NakCode::remote_access_error, "2 remote access error"},
        Ending{NakCode::remote_operational_error, "2 remote operation error"}}) {
    Subject subject;
    post_writes(subject, 4);
    subject.post_receive(9, 0, 64);
    subject.transmit();
    subject.deliver(nak(1001, ending.code, 1));
    CHECK(describe(subject.sent()) == Lines{"1 success", ending.status,
                                            "3 Work Request Flushed Error",
                                            "4 Work Request Flushed Error"});
    CHECK(describe(subject.received()) == Lines{"9 Work Request Flushed Error"});
    CHECK(subject.qp().state() == QueuePairState::error);
    CHECK(subject.transmit().empty());
    CHECK(subject.qp().next_deadline() == wire::kNever);
  }
}

TEST_CASE("9.9.2 An unsignaled request that fails completes all the same") {
  Subject subject;
  const auto unsignaled = [](transport::SendRequest& r) { r.signaled = false; };
  subject.post(SendOperation::rdma_write, 1, 0, 4, unsignaled);
  subject.post(SendOperation::rdma_write, 2, 0, 4, unsignaled);
  subject.post(SendOperation::rdma_write, 3, 0, 4, unsignaled);
  subject.transmit();
  subject.deliver(nak(1001, NakCode::remote_access_error, 1));
  CHECK(describe(subject.sent()) == Lines{"2 remote access error", "3 Work Request Flushed Error"});
}

TEST_CASE("9.7.5.2 Reserved syndromes and NAK codes change nothing") {
  Subject subject;
  post_writes(subject, 1);
  subject.transmit();
  for (const unsigned raw : {0x40u, 0x5fu, 0x65u, 0x7fu, 0x80u, 0xffu}) {
    subject.deliver(acknowledge(1000, 1, wire::Syndrome(static_cast<std::uint8_t>(raw))));
  }
  CHECK(subject.sent().empty());
  CHECK(subject.qp().state() == QueuePairState::ready_to_send);
  subject.deliver(acknowledge(1000, 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
}

TEST_CASE("9.7.5.2 An acknowledgement with any credit count is an acknowledgement") {
  Subject subject;
  for (std::uint8_t credits = 0; credits < 32; ++credits) {
    subject.post(SendOperation::rdma_write, credits, 0, 4);
    subject.transmit();
    subject.deliver(acknowledge(kSendPsn + credits, credits, wire::Syndrome::ack(credits)));
    CHECK(subject.sent().size() == 1);
  }
}

TEST_CASE("9.9.2 A READ response of the wrong length or place ends in bad response") {
  struct Wrong {
    Opcode opcode;
    std::size_t size;
  };
  for (const Wrong wrong :
       {Wrong{Opcode::rc_read_response_first, 255}, Wrong{Opcode::rc_read_response_only, 256},
        Wrong{Opcode::rc_read_response_last, 256}, Wrong{Opcode::rc_read_response_first, 0}}) {
    Subject subject;
    const Bytes before = subject.bytes();
    subject.post(SendOperation::rdma_read, 1, 0, 300);
    subject.transmit();
    subject.deliver(read_response(wrong.opcode, 1000, pattern(wrong.size, 200), 1));
    CHECK(describe(subject.sent()) == Lines{"1 bad response error"});
    CHECK(subject.qp().state() == QueuePairState::error);
    CHECK(subject.bytes() == before);
  }
}

TEST_CASE("9.9.2 An answer of another kind than the request asked for ends in bad response") {
  Subject write, read, atomic;
  post_writes(write, 1);
  write.transmit();
  write.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(4), 1));
  CHECK(describe(write.sent()) == Lines{"1 bad response error"});

  read.post(SendOperation::rdma_read, 1, 0, 8);
  read.transmit();
  read.deliver(atomic_response(1000, 1, 1));
  CHECK(describe(read.sent()) == Lines{"1 bad response error"});

  atomic.post(SendOperation::fetch_add, 1, 0, 8);
  atomic.transmit();
  atomic.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(8), 1));
  CHECK(describe(atomic.sent()) == Lines{"1 bad response error"});
}

TEST_CASE("9.7.6.1 A second copy of a READ's responses changes nothing") {
  Subject subject;
  subject.post(SendOperation::rdma_read, 1, 0, 300);
  subject.post(SendOperation::rdma_read, 2, 512, 8);
  subject.transmit();
  const Packet first = read_response(Opcode::rc_read_response_first, 1000, pattern(256, 1), 1);
  subject.deliver(first);
  subject.bytes()[0] = std::byte{0xee};
  subject.deliver(first);
  subject.deliver(read_response(Opcode::rc_read_response_last, 1001, pattern(44, 2), 1));
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  CHECK(subject.bytes()[0] == std::byte{0xee});
  CHECK(subject.transmit().empty());
}

}  // namespace softrnic::conformance
