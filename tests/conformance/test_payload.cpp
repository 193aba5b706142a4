// SPDX-License-Identifier: BSD-3-Clause
// What requests send and where it goes: inline data, lists of up to 32 elements, nothing at all
// (11.4.1.1, 10.6.3.1).
#include <catch2/catch.hpp>
#include <numeric>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using transport::PostError;
using transport::SendOperation;
using transport::SendRequest;
using wire::Opcode;

namespace {

constexpr std::uint32_t kInline = 400;

Setup roomy(wire::Service service = wire::Service::reliable_connection) {
  Setup setup;
  setup.service = service;
  setup.capacity = {.send_requests = 16,
                    .receive_requests = 16,
                    .send_sges = 32,
                    .receive_sges = 32,
                    .inline_bytes = kInline};
  return setup;
}

SendRequest inline_request(SendOperation operation, const Bytes& data) {
  SendRequest request;
  request.id = 7;
  request.operation = operation;
  request.inline_data = data;
  request.remote_address = 0x1000;
  request.remote_key = 0xabcd;
  return request;
}

Bytes payload_of(const std::vector<Packet>& packets) {
  Bytes all;
  for (const Packet& packet : packets) {
    all.insert(all.end(), packet.payload.begin(), packet.payload.end());
  }
  return all;
}

// 32 elements of 0, 1, 2, ... 31 bytes, each 100 bytes after the last.
std::vector<transport::Sge> many(const Subject& subject) {
  std::vector<transport::Sge> sges;
  for (std::uint32_t i = 0; i < 32; ++i) sges.push_back(subject.local(100 * i, i));
  return sges;
}
constexpr std::uint32_t kManyBytes = 31 * 32 / 2;

Bytes bytes_of_many(Subject& subject) {
  Bytes all;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto from = subject.bytes().begin() + static_cast<std::ptrdiff_t>(100 * i);
    all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

}  // namespace

TEST_CASE("11.4.1.1 Inline data is copied when posted, and needs no region") {
  for (const auto operation : {SendOperation::send, SendOperation::send_with_immediate,
                               SendOperation::send_with_invalidate, SendOperation::rdma_write,
                               SendOperation::rdma_write_with_immediate}) {
    Subject subject(roomy());
    Bytes data = pattern(kInline, 50);
    REQUIRE_FALSE(subject.qp().post_send(inline_request(operation, data)).has_value());
    data.assign(data.size(), std::byte{0});
    const auto packets = subject.transmit();
    CHECK(packets.size() == 2);
    CHECK(payload_of(packets) == pattern(kInline, 50));
    // And again when it is repeated.
    REQUIRE(subject.pass_deadline());
    CHECK(payload_of(subject.transmit()) == pattern(kInline, 50));
    subject.deliver(acknowledge(1001));
    CHECK(describe(subject.sent()) == Lines{"7 success"});
  }
}

TEST_CASE("A19 An ATOMIC WRITE may be inline") {
  Subject subject(roomy());
  const Bytes data = pattern(8, 9);
  REQUIRE_FALSE(
      subject.qp().post_send(inline_request(SendOperation::atomic_write, data)).has_value());
  CHECK(subject.transmit_one().payload == data);
}

TEST_CASE("11.4.1.1 Inline data of many requests at once do not mix") {
  Subject subject(roomy());
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 16; ++i) {
      const Bytes data = pattern(i + 1, 16 * round + i);
      SendRequest request = inline_request(SendOperation::send, data);
      request.signaled = false;
      REQUIRE_FALSE(subject.qp().post_send(request).has_value());
    }
    const auto packets = subject.transmit();
    REQUIRE(packets.size() == 16);
    for (unsigned i = 0; i < 16; ++i) {
      CHECK(packets[i].payload == pattern(i + 1, 16 * round + i));
    }
    subject.deliver(acknowledge(1000 + 16 * round + 15));
  }
}

TEST_CASE("11.4.1.1 UC and UD send inline data too") {
  for (const auto service :
       {wire::Service::unreliable_connection, wire::Service::unreliable_datagram}) {
    Subject subject(roomy(service));
    const Bytes data = pattern(100, 3);
    SendRequest request = inline_request(SendOperation::send, data);
    request.address_handle = 1;
    REQUIRE_FALSE(subject.qp().post_send(request).has_value());
    CHECK(subject.transmit_one().payload == data);
    CHECK(describe(subject.sent()) == Lines{"7 success"});
  }
  Subject datagram(roomy(wire::Service::unreliable_datagram));
  const Bytes data = pattern(kPathMtu + 1);
  SendRequest request = inline_request(SendOperation::send, data);
  request.address_handle = 1;
  CHECK(datagram.qp().post_send(request) == PostError::message_too_long);
}

TEST_CASE("11.4.1.1 Inline data that is too long, beside a list, or fetched is refused") {
  Subject subject(roomy());
  const Bytes longer = pattern(kInline + 1);
  const Bytes eight = pattern(8);
  CHECK(subject.qp().post_send(inline_request(SendOperation::send, longer)) ==
        PostError::bad_inline);
  for (const auto operation :
       {SendOperation::rdma_read, SendOperation::fetch_add, SendOperation::compare_swap,
        SendOperation::flush, SendOperation::bind_window, SendOperation::local_invalidate}) {
    CHECK(subject.qp().post_send(inline_request(operation, eight)) == PostError::bad_inline);
  }
  SendRequest both = inline_request(SendOperation::send, eight);
  const transport::Sge sge = subject.local(0, 8);
  both.sges = {&sge, 1};
  CHECK(subject.qp().post_send(both) == PostError::bad_inline);
  Subject without;
  CHECK(without.qp().post_send(inline_request(SendOperation::send, eight)) ==
        PostError::bad_inline);
  CHECK(subject.qp().send_queue_depth() == 0);
}

TEST_CASE("11.4.1.1 SENDs and WRITEs gather 32 elements, empty ones among them") {
  for (const auto operation : {SendOperation::send, SendOperation::rdma_write}) {
    Subject subject(roomy());
    const auto sges = many(subject);
    SendRequest request;
    request.operation = operation;
    request.sges = sges;
    REQUIRE_FALSE(subject.qp().post_send(request).has_value());
    const auto packets = subject.transmit();
    CHECK(packets.size() == 2);
    CHECK(payload_of(packets) == bytes_of_many(subject));
  }
}

TEST_CASE("11.4.1.1 READs scatter into 32 elements") {
  Subject subject(roomy());
  const auto sges = many(subject);
  SendRequest request;
  request.operation = SendOperation::rdma_read;
  request.sges = sges;
  REQUIRE_FALSE(subject.qp().post_send(request).has_value());
  CHECK(subject.transmit_one().headers.reth.dma_length == kManyBytes);
  const Bytes data = pattern(kManyBytes, 99);
  subject.deliver(
      read_response(Opcode::rc_read_response_first, 1000, {data.begin(), data.begin() + kPathMtu}));
  subject.deliver(
      read_response(Opcode::rc_read_response_last, 1001, {data.begin() + kPathMtu, data.end()}));
  CHECK(describe(subject.sent()) == Lines{"0 success"});
  CHECK(bytes_of_many(subject) == data);
}

TEST_CASE("11.4.1.2 Receives scatter into 32 elements, and touch nothing between") {
  Subject subject(roomy());
  const Bytes before = subject.bytes();
  const auto sges = many(subject);
  transport::ReceiveRequest receive;
  receive.sges = sges;
  REQUIRE_FALSE(subject.qp().post_receive(receive).has_value());
  const Bytes data = pattern(kManyBytes, 120);
  subject.deliver(request(Opcode::rc_send_first, 500, {data.begin(), data.begin() + kPathMtu}));
  subject.deliver(
      request(Opcode::rc_send_last, 501, {data.begin() + kPathMtu, data.end()}).with_ack_request());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 1"});
  CHECK(bytes_of_many(subject) == data);
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(std::equal(subject.bytes().begin() + static_cast<std::ptrdiff_t>(100 * i + i),
                     subject.bytes().begin() + static_cast<std::ptrdiff_t>(100 * i + 100),
                     before.begin() + static_cast<std::ptrdiff_t>(100 * i + i)));
  }
}

TEST_CASE("11.4.1.1 A 33rd element is refused") {
  Subject subject(roomy());
  const std::vector<transport::Sge> sges(33, subject.local(0, 1));
  SendRequest request;
  request.sges = sges;
  CHECK(subject.qp().post_send(request) == PostError::too_many_sges);
  transport::ReceiveRequest receive;
  receive.sges = sges;
  CHECK(subject.qp().post_receive(receive) == PostError::too_many_sges);
}

TEST_CASE("9.7.5.2.5 Everything may be of no length, and then needs no valid key") {
  const transport::Sge empty{0xbad, 0, 0xbad};
  for (const std::size_t elements : {0u, 1u}) {
    for (const auto operation :
         {SendOperation::send, SendOperation::send_with_immediate,
          SendOperation::send_with_invalidate, SendOperation::rdma_write,
          SendOperation::rdma_write_with_immediate, SendOperation::rdma_read}) {
      Subject subject;
      SendRequest request;
      request.operation = operation;
      request.sges = {&empty, elements};
      REQUIRE_FALSE(subject.qp().post_send(request).has_value());
      const Packet packet = subject.transmit_one();
      CHECK(packet.payload.empty());
      CHECK(packet.bth().pad_count == 0);
      if (operation == SendOperation::rdma_read) {
        CHECK(packet.headers.reth.dma_length == 0);
        subject.deliver(read_response(Opcode::rc_read_response_only, 1000, {}));
      } else {
        subject.deliver(acknowledge(1000));
      }
      CHECK(describe(subject.sent()) == Lines{"0 success"});
    }
    Subject responder;
    REQUIRE_FALSE(responder.qp().post_receive({1, {&empty, elements}}).has_value());
    REQUIRE_FALSE(responder.qp().post_receive({2, {&empty, elements}}).has_value());
    responder.deliver(send_only(500));
    Packet write = write_request(Opcode::rc_write_only_immediate, 501, 0xbad, 0xbad, 0);
    responder.deliver(std::move(write).with_ack_request());
    responder.deliver(write_request(Opcode::rc_write_only, 502, 0xbad, 0xbad, 0));
    responder.deliver(read_request(503, 0xbad, 0xbad, 0));
    CHECK(describe(responder.transmit()) ==
          Lines{"ACK psn 501 msn 2", "RC RDMA READ response Only psn 503 msn 4 0 B"});
    CHECK(describe(responder.received()) == Lines{"1 success", "2 success"});
  }
}

}  // namespace softrnic::conformance
