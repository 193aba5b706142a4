// SPDX-License-Identifier: BSD-3-Clause
// The RC responder and sequence numbers: order, gaps, duplicates, MSN, acknowledgements.
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using wire::NakCode;
using wire::Opcode;

TEST_CASE("9.7.1 PSNs wrap from 2^24 - 1 to 0 in the middle of a message") {
  Subject subject(Setup().with([](auto& a) { a.receive_psn = wire::Psn(0xfffffe); }));
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::rc_send_first, 0xfffffe, pattern(256)));
  subject.deliver(request(Opcode::rc_send_middle, 0xffffff, pattern(256)));
  subject.deliver(request(Opcode::rc_send_last, 0, pattern(10)).with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 0 msn 1"});
  CHECK(describe(subject.received()) == Lines{"1 success"});
}

TEST_CASE("9.7.5.1 An acknowledgement carries the PSN it acknowledges, MSN and no credits") {
  Subject subject;
  subject.post_receive(1, 0, 64);
  subject.deliver(send_only(500, pattern(5)));
  const Packet answer = subject.transmit_one();
  CHECK(describe(answer) == "ACK psn 500 msn 1");
  CHECK(answer.headers.aeth.syndrome.raw() == 0x1f);  // 9.7.7.2: no end-to-end credits kept
  CHECK(answer.bth().destination_qpn == kPeerQpn);
  CHECK(answer.bth().partition_key == 0xffff);
  CHECK(answer.bth().pad_count == 0);
  CHECK_FALSE(answer.bth().ack_request);
  CHECK(answer.payload.empty());
}

TEST_CASE("9.7.5.1 A request that asks for no acknowledgement gets none") {
  Subject subject;
  subject.deliver(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, subject.key(), 4, pattern(4)));
  CHECK(subject.transmit().empty());
  CHECK_FALSE(subject.qp().wants_transmit(subject.now));
}

TEST_CASE("9.7.5.1.2 One acknowledgement may stand for several requests") {
  Subject subject;
  for (std::uint32_t i = 0; i < 5; ++i) {
    subject.deliver(
        write_request(Opcode::rc_write_only, 500 + i, Subject::kBase, subject.key(), 4, pattern(4))
            .with_ack_request());
  }
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 504 msn 5"});
}

TEST_CASE("9.7.7.1 The MSN counts whole messages, and a READ or atomic when it is executed") {
  Subject subject;
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(256)).with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 0"});
  subject.deliver(request(Opcode::rc_send_last, 501, pattern(1)).with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 1"});
  subject.deliver(read_request(502, Subject::kBase, subject.key(), 8));
  CHECK(describe(subject.transmit()) == Lines{"RC RDMA READ response Only psn 502 msn 2 8 B"});
  subject.deliver(fetch_add(503, Subject::kBase, subject.key(), 1));
  CHECK(describe(subject.transmit()) == Lines{"RC ATOMIC Acknowledge psn 503 msn 3"});
}

TEST_CASE("9.7.4.1.1 A gap is answered by one NAK, whatever follows it") {
  Subject subject;
  for (std::uint32_t psn : {502u, 503u, 510u}) {
    subject.deliver(
        write_request(Opcode::rc_write_only, psn, Subject::kBase, subject.key(), 4, pattern(4, 99))
            .with_ack_request());
  }
  CHECK(describe(subject.transmit()) == Lines{"NAK PSN Sequence Error psn 500 msn 0"});
  CHECK(subject.bytes() == pattern(Subject::kSize, 3));  // nothing beyond the gap was executed
  CHECK(subject.counters().out_of_sequence == 3);

  // The missing request ends that; a new gap is a new NAK.
  subject.deliver(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, subject.key(), 4, pattern(4))
          .with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  subject.deliver(
      write_request(Opcode::rc_write_only, 502, Subject::kBase, subject.key(), 4, pattern(4)));
  CHECK(describe(subject.transmit()) == Lines{"NAK PSN Sequence Error psn 501 msn 1"});
}

TEST_CASE("9.7.4.1.1 Of the 2^24 PSNs the half behind the expected one are duplicates") {
  Subject subject(Setup().with([](auto& a) { a.receive_psn = wire::Psn(0); }));
  subject.deliver(send_only(0x800000, pattern(4)));  // 2^23 behind, as also ahead
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 16777215 msn 0"});
  subject.deliver(send_only(0x7fffff, pattern(4)));  // the farthest ahead
  CHECK(describe(subject.transmit()) == Lines{"NAK PSN Sequence Error psn 0 msn 0"});
}

TEST_CASE("9.7.5.1.5 A duplicate SEND or WRITE is acknowledged again and not executed again") {
  Subject subject;
  subject.post_receive(1, 0, 64);
  subject.post_receive(2, 64, 64);
  const Packet send = send_only(500, pattern(8, 50));
  subject.deliver(send);
  const Packet write =
      write_request(Opcode::rc_write_only, 501, Subject::kBase + 512, subject.key(), 4, pattern(4))
          .with_ack_request();
  subject.deliver(write);
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 2"});
  const Bytes before = subject.bytes();
  subject.bytes()[512] = std::byte{0xee};  // the user's, after the completion

  subject.deliver(write);
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 2"});
  subject.deliver(send);
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 2"});
  CHECK(subject.bytes()[512] == std::byte{0xee});
  CHECK(describe(subject.received()) == Lines{"1 success"});
  CHECK(subject.qp().receive_queue_depth() == 1);
  CHECK(subject.counters().duplicate_request == 2);
}

TEST_CASE("9.7.5.1.5 A duplicate in the middle of a message does not disturb it") {
  Subject subject;
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(256, 1)));
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(256, 1)));
  subject.deliver(request(Opcode::rc_send_middle, 501, pattern(256, 2)));
  subject.deliver(request(Opcode::rc_send_middle, 501, pattern(256, 2)));
  subject.transmit();
  subject.deliver(request(Opcode::rc_send_last, 502, pattern(256, 3)).with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 502 msn 1"});
  const auto done = subject.received();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].byte_length == 768);
  for (unsigned i = 0; i < 3; ++i) {
    const auto from = subject.bytes().begin() + i * 256;
    CHECK(Bytes(from, from + 256) == pattern(256, i + 1));
  }
}

TEST_CASE("9.7.5.1.5 A duplicate while a NAK is out is acknowledged up to the gap") {
  Subject subject;
  const auto write = [&](std::uint32_t psn) {
    return write_request(Opcode::rc_write_only, psn, Subject::kBase, subject.key(), 4, pattern(4))
        .with_ack_request();
  };
  subject.deliver(write(500));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  subject.deliver(write(502));
  CHECK(describe(subject.transmit()) == Lines{"NAK PSN Sequence Error psn 501 msn 1"});
  subject.deliver(write(500));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  subject.deliver(write(502));
  CHECK(subject.transmit().empty());  // still the same gap
  subject.deliver(write(501));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 2"});
}

TEST_CASE("9.2 Every answer: MigReq set, TVer 0, the default P_Key, no AckReq, the peer's number") {
  struct Answered {
    const char* answer;
    std::function<Packet(Subject&)> request;
  };
  const std::uint64_t address = Subject::kBase + 64;
  const Answered all[] = {
      {"ACK psn 500 msn 1",
       [=](Subject& s) {
         return write_request(Opcode::rc_write_only, 500, address, s.key(), 4, pattern(4))
             .with_ack_request();
       }},
      {"NAK PSN Sequence Error psn 500 msn 0", [](Subject&) { return send_only(501, pattern(4)); }},
      {"RNR NAK 12 psn 500 msn 0", [](Subject&) { return send_only(500, pattern(4)); }},
      {"NAK Remote Access Error psn 500 msn 0",
       [=](Subject& s) { return read_request(500, address, s.key() ^ 1, 4); }},
      {"NAK Invalid Request psn 500 msn 0",
       [=](Subject& s) { return fetch_add(500, address + 1, s.key(), 1); }},
      {"RC RDMA READ response Only psn 500 msn 1 5 B",
       [=](Subject& s) { return read_request(500, address, s.key(), 5); }},
      {"RC ATOMIC Acknowledge psn 500 msn 1",
       [=](Subject& s) { return fetch_add(500, address, s.key(), 1); }},
      {"RC RDMA READ response Only psn 500 msn 1 0 B",
       [=](Subject& s) { return atomic_write(500, address, s.key(), pattern(8)); }},
  };
  for (const Answered& each : all) {
    Subject subject;
    subject.deliver(each.request(subject));
    const Packet answer = subject.transmit_one();
    CHECK(describe(answer) == each.answer);
    CHECK(answer.bth().migration_request);
    CHECK(answer.bth().version == 0);
    CHECK(answer.bth().partition_key == 0xffff);
    CHECK_FALSE(answer.bth().ack_request);
    CHECK_FALSE(answer.bth().solicited);
    CHECK(answer.bth().destination_qpn == kPeerQpn);
    CHECK(answer.bth().pad_count == (4 - answer.payload.size() % 4) % 4);
    CHECK(answer.bth().reserved6 == 0);
    CHECK(answer.bth().reserved7 == 0);
    CHECK_FALSE(answer.bth().fecn);
    CHECK_FALSE(answer.bth().becn);
    // An ACK tells no credits unless it was asked to.
    if (answer.headers.aeth.syndrome.is_ack()) CHECK(answer.headers.aeth.syndrome.raw() == 0x1f);
  }
}

}  // namespace softrnic::conformance
