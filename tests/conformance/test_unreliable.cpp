// SPDX-License-Identifier: BSD-3-Clause
// UC and UD: nothing is acknowledged, whole messages or none (9.8).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::SendOperation;
using wire::Opcode;

namespace {

Setup of_service(wire::Service service) {
  Setup setup;
  setup.service = service;
  return setup;
}

const Setup kUc = of_service(wire::Service::unreliable_connection);
const Setup kUd = of_service(wire::Service::unreliable_datagram);

Packet datagram(std::size_t size, std::uint32_t queue_key = 0x11111111) {
  Packet packet = request(Opcode::ud_send_only, 77, pattern(size));
  packet.headers.deth = {queue_key, 0, kPeerQpn};
  return packet;
}

}  // namespace

TEST_CASE("9.8.2 A UC request completes when it has been sent, and asks for nothing") {
  Subject subject(kUc);
  subject.post(SendOperation::send, 1, 0, 600);
  subject.post(SendOperation::rdma_write_with_immediate, 2, 0, 4);
  CHECK(describe(subject.transmit()) ==
        Lines{"UC SEND First psn 1000 256 B", "UC SEND Middle psn 1001 256 B",
              "UC SEND Last psn 1002 88 B", "UC RDMA WRITE Only with Immediate psn 1003 4 B"});
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success"});
  CHECK(subject.qp().next_deadline() == wire::kNever);
}

TEST_CASE("9.8.2 UC offers no READs and no atomics") {
  for (const SendOperation operation :
       {SendOperation::rdma_read, SendOperation::compare_swap, SendOperation::fetch_add}) {
    Subject subject(kUc);
    transport::SendRequest request;
    request.operation = operation;
    CHECK(subject.qp().post_send(request) == transport::PostError::bad_operation);
  }
}

TEST_CASE("9.8.2.2 A UC message with a packet missing is dropped whole, and the next one taken") {
  Subject subject(kUc);
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::uc_send_first, 500, pattern(256)));
  subject.deliver(request(Opcode::uc_send_last, 502, pattern(10)));
  CHECK(subject.received().empty());
  subject.deliver(request(Opcode::uc_send_only, 503, pattern(20)));
  const auto done = subject.received();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].byte_length == 20);
  CHECK(subject.transmit().empty());
}

TEST_CASE("9.8.2.2 A UC message whose beginning is lost is dropped") {
  Subject subject(kUc);
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::uc_send_middle, 501, pattern(256)));
  subject.deliver(request(Opcode::uc_send_last, 502, pattern(10)));
  CHECK(subject.received().empty());
  CHECK(subject.qp().receive_queue_depth() == 1);
}

TEST_CASE("9.8.2.2 A UC message cut short by the next one is dropped, the next one taken") {
  Subject subject(kUc);
  subject.post_receive(1, 0, 1024);
  subject.deliver(request(Opcode::uc_send_first, 500, pattern(256)));
  subject.deliver(request(Opcode::uc_send_first, 502, pattern(256, 9)));
  subject.deliver(request(Opcode::uc_send_last, 503, pattern(4, 8)));
  const auto done = subject.received();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].byte_length == 260);
  CHECK(Bytes(subject.bytes().begin(), subject.bytes().begin() + 256) == pattern(256, 9));
}

TEST_CASE("9.8.2.2 A UC WRITE without the right is dropped in silence, and the queue pair lives") {
  Subject subject(kUc);
  const Bytes before = subject.bytes();
  for (const std::uint32_t key : {subject.key() ^ 1, 0u}) {
    subject.deliver(
        write_request(Opcode::uc_write_only, 500, Subject::kBase, key, 4, pattern(4, 99)));
  }
  subject.deliver(write_request(Opcode::uc_write_only, 501, Subject::kBase + Subject::kSize - 2,
                                subject.key(), 4, pattern(4, 99)));
  CHECK(subject.bytes() == before);
  CHECK(subject.transmit().empty());
  CHECK(subject.qp().state() == transport::QueuePairState::ready_to_send);
  subject.deliver(
      write_request(Opcode::uc_write_only, 502, Subject::kBase, subject.key(), 4, pattern(4, 99)));
  CHECK(Bytes(subject.bytes().begin(), subject.bytes().begin() + 4) == pattern(4, 99));
}

TEST_CASE("9.8.2.2 A UC SEND that finds no receive is lost") {
  Subject subject(kUc);
  subject.deliver(request(Opcode::uc_send_only, 500, pattern(4)));
  CHECK(subject.transmit().empty());
  subject.post_receive(1, 0, 64);
  subject.deliver(request(Opcode::uc_send_only, 501, pattern(5)));
  REQUIRE(describe(subject.received()) == Lines{"1 success"});
  CHECK(subject.counters().out_of_buffer == 1);
}

TEST_CASE("9.8.3 A datagram lands behind 40 bytes of GRH room and names its source") {
  Subject subject(kUd);
  subject.post_receive(1, 0, 240);
  subject.deliver(datagram(200));
  const auto done = subject.received();
  REQUIRE(describe(done) == Lines{"1 success"});
  CHECK(done[0].byte_length == 240);
  CHECK(done[0].has_grh);
  CHECK(done[0].source_qpn == kPeerQpn);
  CHECK(Bytes(subject.bytes().begin() + 40, subject.bytes().begin() + 240) == pattern(200));
  CHECK(subject.transmit().empty());
}

TEST_CASE("9.8.3 A datagram with the wrong Q_Key is dropped and counted") {
  Subject subject(kUd);
  subject.post_receive(1, 0, 240);
  subject.deliver(datagram(4, 0x11111110));
  CHECK(subject.received().empty());
  CHECK(subject.qp().receive_queue_depth() == 1);
  CHECK(subject.counters().qkey_violations == 1);
}

TEST_CASE("9.8.3 A datagram carries the sender's number and the key asked for") {
  Subject subject(kUd);
  const auto edit = [](transport::SendRequest& r) {
    r.address_handle = 5;
    r.remote_qpn = 0x345;
    r.remote_queue_key = 0x777;
    r.immediate = 0x01020304;
  };
  subject.post(SendOperation::send_with_immediate, 1, 0, kPathMtu, edit);
  Bytes room(4096);
  transport::OutboundPacket out;
  out.payload_room = wire::MutableByteChain(wire::ByteSpan(room));
  REQUIRE(subject.qp().poll_transmit(subject.now, out));
  CHECK(out.address_handle == 5);
  CHECK(out.headers.bth.opcode == Opcode::ud_send_only_immediate);
  CHECK(out.headers.bth.destination_qpn == 0x345);
  CHECK(out.headers.bth.psn == wire::Psn(kSendPsn));
  CHECK(out.headers.deth.queue_key == 0x777);
  CHECK(out.headers.deth.source_qpn == kSubjectQpn);
  CHECK(out.headers.immdt.data == 0x01020304);
  CHECK(out.payload_size == kPathMtu);
  CHECK(describe(subject.sent()) == Lines{"1 success"});
}

TEST_CASE("9.8.3 A Q_Key with its highest bit set means the queue pair's own (10.2.5)") {
  Subject subject(kUd);
  subject.post(SendOperation::send, 1, 0, 4, [](transport::SendRequest& r) {
    r.address_handle = 5;
    r.remote_qpn = 0x345;
    r.remote_queue_key = 0x80000000;
  });
  CHECK(subject.transmit_one().headers.deth.queue_key == 0x11111111);
}

TEST_CASE("9.8.3 A datagram is no longer than the path MTU, and is nothing but a SEND") {
  Subject subject(kUd);
  const transport::Sge sge = subject.local(0, kPathMtu + 1);
  transport::SendRequest request;
  request.sges = {&sge, 1};
  request.address_handle = 5;
  CHECK(subject.qp().post_send(request) == transport::PostError::message_too_long);
  request.sges = {};
  request.operation = SendOperation::rdma_write;
  CHECK(subject.qp().post_send(request) == transport::PostError::bad_operation);
}

}  // namespace softrnic::conformance
