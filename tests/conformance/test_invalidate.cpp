// SPDX-License-Identifier: BSD-3-Clause
// SEND with invalidate, at both ends (9.4.1.1.3, 10.6.5).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using nic::WindowType;
using transport::Completion;
using transport::CompletionStatus;
using transport::MemoryFault;
using transport::PostError;
using transport::QueuePairState;
using transport::SendOperation;
using wire::Opcode;

namespace {

constexpr std::uint32_t kReadable = transport::kRemoteRead;

Packet send_with_invalidate(std::uint32_t psn, std::uint32_t key, Bytes payload = pattern(4),
                            Opcode opcode = Opcode::rc_send_only_invalidate) {
  Packet packet = request(opcode, psn, std::move(payload)).with_ack_request();
  packet.headers.ieth.remote_key = key;
  return packet;
}

// A region that was registered fast, over all of the subject's memory.
std::uint32_t fast_region(Subject& subject, std::uint32_t access = kReadable,
                          transport::ProtectionDomain domain = Subject::kDomain) {
  const auto keys = subject.memory().allocate(domain, Subject::kSize);
  REQUIRE(keys.has_value());
  const auto host = reinterpret_cast<std::uintptr_t>(subject.bytes().data());
  REQUIRE(subject.memory().fast_register(domain, {.key = keys->remote,
                                                  .access = access,
                                                  .address = Subject::kBase,
                                                  .host_address = host,
                                                  .length = Subject::kSize}) == MemoryFault::none);
  return keys->remote;
}

std::uint32_t bound_window(Subject& subject, WindowType type, std::uint32_t qpn = kSubjectQpn) {
  const auto region = subject.add_region(Subject::kDomain, transport::kBindWindow);
  const auto key = subject.memory().allocate_window(Subject::kDomain, type);
  REQUIRE(key.has_value());
  REQUIRE(subject.memory().bind_window({Subject::kDomain, qpn}, {.window_key = *key,
                                                                 .new_key = *key,
                                                                 .region_key = region.local,
                                                                 .access = kReadable,
                                                                 .address = Subject::kBase,
                                                                 .length = 64}) ==
          MemoryFault::none);
  return *key;
}

bool can_read(Subject& subject, std::uint32_t key) {
  return subject.memory().check_remote({Subject::kDomain, kSubjectQpn}, key, Subject::kBase, 8,
                                       transport::kRemoteRead) == MemoryFault::none;
}

}  // namespace

TEST_CASE("9.4.1.1.3 SEND with invalidate carries the key in its only packet") {
  Subject subject;
  subject.post(SendOperation::send_with_invalidate, 7, 0, 9,
               [](auto& request) { request.invalidate_key = 0xcafe01; });
  const Packet packet = subject.transmit_one();
  CHECK(describe(packet) == "RC SEND Only with Invalidate psn 1000 ackreq 9 B");
  CHECK(packet.headers.ieth.remote_key == 0xcafe01);
  CHECK(packet.bth().pad_count == 3);
  subject.deliver(acknowledge(1000));
  const auto sent = subject.sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].status == CompletionStatus::success);
  CHECK(sent[0].operation == transport::CompletionOperation::send);
  CHECK_FALSE(sent[0].has_invalidate);
}

TEST_CASE("9.4.1.1.3 SEND with invalidate of several packets carries the key in the last") {
  Subject subject;
  subject.post(SendOperation::send_with_invalidate, 7, 0, 2 * kPathMtu + 1, [](auto& request) {
    request.invalidate_key = 0xcafe02;
    request.solicited = true;
  });
  const auto packets = subject.transmit();
  CHECK(describe(packets) == Lines{"RC SEND First psn 1000 256 B", "RC SEND Middle psn 1001 256 B",
                                   "RC SEND Last with Invalidate psn 1002 ackreq solicited 1 B"});
  CHECK(packets.back().headers.ieth.remote_key == 0xcafe02);
}

TEST_CASE("9.4.1.1.3 SEND with invalidate of nothing is one packet with its key") {
  Subject subject;
  subject.post(SendOperation::send_with_invalidate, 7, 0, 0,
               [](auto& request) { request.invalidate_key = 5; });
  CHECK(describe(subject.transmit()) == Lines{"RC SEND Only with Invalidate psn 1000 ackreq 0 B"});
}

TEST_CASE("11.4.1.1 UC and UD have no SEND with invalidate") {
  for (const auto service :
       {wire::Service::unreliable_connection, wire::Service::unreliable_datagram}) {
    Setup setup;
    setup.service = service;
    Subject subject(setup);
    transport::SendRequest request;
    request.operation = SendOperation::send_with_invalidate;
    request.address_handle = 1;
    CHECK(subject.qp().post_send(request) == PostError::bad_operation);
  }
}

TEST_CASE("9.4.1.1.3 The responder invalidates the key and says which in the completion") {
  Subject subject;
  const std::uint32_t key = fast_region(subject);
  subject.post_receive(1, 0, 64);
  REQUIRE(can_read(subject, key));
  subject.deliver(send_with_invalidate(500, key).solicited());
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  const auto received = subject.received();
  REQUIRE(received.size() == 1);
  CHECK(received[0].status == CompletionStatus::success);
  CHECK(received[0].has_invalidate);
  CHECK(received[0].invalidated_key == key);
  CHECK_FALSE(received[0].has_immediate);
  CHECK(received[0].solicited);
  CHECK(received[0].byte_length == 4);
  CHECK_FALSE(can_read(subject, key));
  subject.deliver(read_request(501, Subject::kBase, key, 8));
  CHECK(describe(subject.transmit()) == Lines{"NAK Remote Access Error psn 501 msn 1"});
}

TEST_CASE("9.4.1.1.3 The key is valid until the message is complete") {
  Subject subject;
  const std::uint32_t key = fast_region(subject);
  subject.post_receive(1, 0, 4096);
  subject.deliver(request(Opcode::rc_send_first, 500, pattern(kPathMtu)));
  CHECK(can_read(subject, key));
  // Out of order: nothing is executed.
  subject.deliver(send_with_invalidate(502, key, pattern(1), Opcode::rc_send_last_invalidate));
  CHECK(can_read(subject, key));
  subject.transmit();
  subject.deliver(send_with_invalidate(501, key, pattern(1), Opcode::rc_send_last_invalidate));
  CHECK_FALSE(can_read(subject, key));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 501 msn 1"});
}

TEST_CASE("9.7.5.1.5 A duplicate SEND with invalidate invalidates nothing again") {
  Subject subject;
  const std::uint32_t key = fast_region(subject);
  subject.post_receive(1, 0, 64);
  subject.post_receive(2, 0, 64);
  subject.deliver(send_with_invalidate(500, key));
  subject.transmit();
  // The user has registered again, and happens to have kept the key byte.
  const auto host = reinterpret_cast<std::uintptr_t>(subject.bytes().data());
  REQUIRE(subject.memory().fast_register(
              Subject::kDomain, {key, kReadable, Subject::kBase, host, 64}) == MemoryFault::none);
  subject.deliver(send_with_invalidate(500, key));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  CHECK(can_read(subject, key));
  CHECK(subject.received().size() == 1);
}

TEST_CASE("9.7.5.2.8 A SEND with invalidate that meets no receive leaves the key valid") {
  Subject subject;
  const std::uint32_t key = fast_region(subject);
  subject.deliver(send_with_invalidate(500, key));
  CHECK(describe(subject.transmit()) == Lines{"RNR NAK 12 psn 500 msn 0"});
  CHECK(can_read(subject, key));
  subject.post_receive(1, 0, 64);
  subject.deliver(send_with_invalidate(500, key));
  CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
  CHECK_FALSE(can_read(subject, key));
}

TEST_CASE("10.6.5 A SEND with invalidate frees a window of type 2, not its region") {
  for (const WindowType type : {WindowType::type_2a, WindowType::type_2b}) {
    Subject subject;
    const std::uint32_t key = bound_window(subject, type);
    subject.post_receive(1, 0, 64);
    subject.deliver(send_with_invalidate(500, key));
    CHECK(describe(subject.transmit()) == Lines{"ACK psn 500 msn 1"});
    CHECK_FALSE(can_read(subject, key));
    CHECK(can_read(subject, subject.key()));
    CHECK(subject.memory().windows() == 1);
  }
}

TEST_CASE("10.6.5 A key that a peer may not invalidate: NAK, and the connection ends") {
  const auto refused = [](const std::function<std::uint32_t(Subject&)>& make_key) {
    Subject subject;
    const std::uint32_t key = make_key(subject);
    subject.post_receive(1, 0, 64);
    subject.post_receive(2, 0, 64);
    subject.deliver(send_with_invalidate(500, key));
    CHECK(describe(subject.transmit()) == Lines{"NAK Remote Access Error psn 500 msn 0"});
    CHECK(describe(subject.received()) ==
          Lines{"1 local access error", "2 Work Request Flushed Error"});
    CHECK(subject.qp().state() == QueuePairState::error);
    CHECK(subject.counters().resp_remote_access_errors == 1);
    return can_read(subject, key);
  };
  SECTION("an ordinary region") {
    CHECK(refused([](Subject& s) { return s.key(); }));
  }
  SECTION("no key of ours") {
    refused([](Subject&) { return 0u; });
    refused([](Subject& s) { return fast_region(s) ^ 0x100; });
  }
  SECTION("another key byte") {
    refused([](Subject& s) { return fast_region(s) ^ 1; });
  }
  SECTION("another domain") {
    refused([](Subject& s) { return fast_region(s, kReadable, Subject::kOtherDomain); });
  }
  SECTION("a region that grants peers nothing") {
    refused([](Subject& s) { return fast_region(s, transport::kLocalWrite); });
  }
  SECTION("a free region") {
    refused([](Subject& s) { return s.memory().allocate(Subject::kDomain, 64)->remote; });
  }
  SECTION("a window of type 1") {
    CHECK(refused([](Subject& s) { return bound_window(s, WindowType::type_1); }));
  }
  SECTION("a free window of type 2") {
    refused([](Subject& s) {
      return *s.memory().allocate_window(Subject::kDomain, WindowType::type_2b);
    });
  }
  SECTION("a window bound on another queue pair") {
    refused([](Subject& s) { return bound_window(s, WindowType::type_2a, 0x99); });
    refused([](Subject& s) { return bound_window(s, WindowType::type_2b, 0x99); });
  }
}

}  // namespace softrnic::conformance
