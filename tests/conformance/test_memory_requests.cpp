// SPDX-License-Identifier: BSD-3-Clause
// Requests that send nothing: local invalidate, fast registration, window bind (10.6.3.3, 10.6.5,
// 10.6.7), in the order of the send queue (10.8.3.3).
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using nic::WindowType;
using transport::CompletionOperation;
using transport::CompletionStatus;
using transport::MemoryFault;
using transport::PostError;
using transport::SendOperation;
using transport::SendRequest;
using wire::Opcode;

namespace {

// A subject with a region for fast registration and windows.
struct Requests {
  explicit Requests(const Setup& setup = {}) : subject(setup) {
    fast = subject.memory().allocate(Subject::kDomain, Subject::kSize)->local;
    bindable =
        subject.add_region(Subject::kDomain, transport::kLocalWrite | transport::kBindWindow).local;
  }

  std::optional<PostError> post(const SendRequest& request) {
    return subject.qp().post_send(request);
  }
  void register_fast(std::uint64_t id, std::uint32_t key, std::uint64_t length = 4096) {
    SendRequest request;
    request.id = id;
    request.operation = SendOperation::fast_register;
    const transport::FastRegistration registration{
        .key = key,
        .access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead,
        .address = kFastBase,
        .host_address = reinterpret_cast<std::uintptr_t>(subject.bytes().data()),
        .length = length};
    request.registration = &registration;
    REQUIRE_FALSE(post(request).has_value());
  }
  void invalidate(std::uint64_t id, std::uint32_t key, bool signaled = true) {
    SendRequest request;
    request.id = id;
    request.operation = SendOperation::local_invalidate;
    request.invalidate_key = key;
    request.signaled = signaled;
    REQUIRE_FALSE(post(request).has_value());
  }
  void bind(std::uint64_t id, std::uint32_t key, std::uint32_t new_key, std::uint64_t length = 64,
            bool fence = false) {
    SendRequest request;
    request.id = id;
    request.operation = SendOperation::bind_window;
    request.fence = fence;
    const transport::WindowBinding binding{
        .window_key = key,
        .new_key = new_key,
        .region_key = bindable,
        .access = transport::kRemoteRead | transport::kRemoteWrite,
        .address = Subject::kBase,
        .length = length};
    request.binding = &binding;
    REQUIRE_FALSE(post(request).has_value());
  }
  bool reaches(std::uint32_t key, std::uint64_t address) {
    return subject.memory().check_remote({Subject::kDomain, kSubjectQpn}, key, address, 8,
                                         transport::kRemoteRead) == MemoryFault::none;
  }

  static constexpr std::uint64_t kFastBase = 0x100000;
  Subject subject;
  std::uint32_t fast = 0;
  std::uint32_t bindable = 0;
};

}  // namespace

TEST_CASE("10.6.3.3 A fast registration completes without a packet") {
  Requests r;
  r.register_fast(1, r.fast ^ 1);
  CHECK(r.subject.qp().wants_transmit(r.subject.now));
  CHECK(r.subject.transmit().empty());
  const auto sent = r.subject.sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].id == 1);
  CHECK(sent[0].status == CompletionStatus::success);
  CHECK(sent[0].operation == CompletionOperation::fast_register);
  CHECK(r.reaches(r.fast ^ 1, Requests::kFastBase));
  CHECK(r.subject.qp().next_deadline() == wire::kNever);
  CHECK(r.subject.qp().send_queue_depth() == 0);
}

TEST_CASE("10.6.3.3 What is registered can be sent by the next request") {
  Requests r;
  r.register_fast(1, r.fast ^ 1);
  SendRequest send;
  send.id = 2;
  const transport::Sge sge{Requests::kFastBase + 8, 4, r.fast ^ 1};
  send.sges = {&sge, 1};
  REQUIRE_FALSE(r.post(send).has_value());
  const Packet packet = r.subject.transmit_one();
  CHECK(describe(packet) == "RC SEND Only psn 1000 ackreq 4 B");
  CHECK(packet.payload[0] == r.subject.bytes()[8]);
  CHECK(describe(r.subject.sent()) == Lines{"1 success"});
  r.subject.deliver(acknowledge(1000));
  CHECK(describe(r.subject.sent()) == Lines{"2 success"});
}

TEST_CASE("10.6.5 A local invalidate waits for all that came before it") {
  Requests r;
  r.register_fast(1, r.fast);
  SendRequest send;
  send.id = 2;
  send.signaled = false;
  const transport::Sge sge{Requests::kFastBase, 2 * kPathMtu, r.fast};
  send.sges = {&sge, 1};
  REQUIRE_FALSE(r.post(send).has_value());
  r.invalidate(3, r.fast);
  // The last packet asks, for nothing behind it would.
  CHECK(describe(r.subject.transmit()) ==
        Lines{"RC SEND First psn 1000 256 B", "RC SEND Last psn 1001 ackreq 256 B"});
  CHECK(describe(r.subject.sent()) == Lines{"1 success"});
  CHECK(r.reaches(r.fast, Requests::kFastBase));
  // A repetition still finds the region.
  r.subject.deliver(nak(1000, wire::NakCode::psn_sequence_error));
  CHECK(r.subject.transmit().size() == 2);
  r.subject.deliver(acknowledge(1001));
  CHECK(r.subject.transmit().empty());
  CHECK(describe(r.subject.sent()) == Lines{"3 success"});
  CHECK_FALSE(r.reaches(r.fast, Requests::kFastBase));
}

TEST_CASE("10.6.7 A bind takes effect before the next request, and completes in its turn") {
  Requests r;
  const auto key = *r.subject.memory().allocate_window(Subject::kDomain, WindowType::type_2b);
  r.subject.post(SendOperation::send, 1, 0, 8);
  r.bind(2, key, key ^ 1);
  r.subject.post(SendOperation::send, 3, 0, 8);
  CHECK(describe(r.subject.transmit()) ==
        Lines{"RC SEND Only psn 1000 ackreq 8 B", "RC SEND Only psn 1001 ackreq 8 B"});
  CHECK(r.reaches(key ^ 1, Subject::kBase));
  CHECK(r.subject.sent().empty());
  r.subject.deliver(acknowledge(1000));
  const auto sent = r.subject.sent();
  CHECK(describe(sent) == Lines{"1 success", "2 success"});
  CHECK(sent[1].operation == CompletionOperation::bind_window);
  r.subject.deliver(acknowledge(1001));
  CHECK(describe(r.subject.sent()) == Lines{"3 success"});
}

TEST_CASE(
    "9.7.5.1 A local request is carried out once, however often the packets round it repeat") {
  Requests r;
  const auto key = *r.subject.memory().allocate_window(Subject::kDomain, WindowType::type_1);
  r.subject.post(SendOperation::send, 1, 0, 8);
  r.bind(2, key, key ^ 1);
  r.subject.post(SendOperation::send, 3, 0, 8);
  r.bind(4, key ^ 1, key ^ 2);
  const auto first = r.subject.transmit();
  r.subject.deliver(nak(1000, wire::NakCode::psn_sequence_error));
  CHECK(describe(r.subject.transmit()) ==
        Lines{"RC SEND Only psn 1000 ackreq 8 B", "RC SEND Only psn 1001 ackreq 8 B"});
  REQUIRE(r.subject.pass_deadline());
  CHECK(r.subject.transmit().size() == 2);
  CHECK(r.reaches(key ^ 2, Subject::kBase));
  r.subject.deliver(acknowledge(1001));
  CHECK(describe(r.subject.sent()) == Lines{"1 success", "2 success", "3 success", "4 success"});
  CHECK(r.subject.qp().send_queue_depth() == 0);
}

TEST_CASE("10.8.3.3 A fenced bind waits for earlier READs") {
  Requests r;
  const auto key = *r.subject.memory().allocate_window(Subject::kDomain, WindowType::type_2a);
  r.subject.post(SendOperation::rdma_read, 1, 0, 8);
  r.bind(2, key, key ^ 1, 64, true);
  CHECK(r.subject.transmit().size() == 1);
  CHECK_FALSE(r.reaches(key ^ 1, Subject::kBase));
  r.subject.deliver(read_response(Opcode::rc_read_response_only, 1000, pattern(8)));
  r.subject.transmit();
  CHECK(r.reaches(key ^ 1, Subject::kBase));
  CHECK(describe(r.subject.sent()) == Lines{"1 success", "2 success"});
}

TEST_CASE("10.6.7 Unsignaled local requests complete in silence") {
  Requests r;
  r.register_fast(1, r.fast);
  r.invalidate(2, r.fast, false);
  CHECK(r.subject.transmit().empty());
  CHECK(describe(r.subject.sent()) == Lines{"1 success"});
  CHECK(r.subject.qp().send_queue_depth() == 0);
}

TEST_CASE("11.6.2 A local request that is not permitted ends in error, and the queue with it") {
  Requests r;
  SECTION("an ordinary region invalidated") {
    r.invalidate(2, r.subject.local_key());
  }
  SECTION("a bad key invalidated") {
    r.invalidate(2, 0);
  }
  SECTION("a longer registration than allocated") {
    r.register_fast(2, r.fast, Subject::kSize + 1);
  }
  SECTION("a registration of an ordinary region") {
    r.register_fast(2, r.subject.local_key());
  }
  SECTION("a bind of no window") {
    r.bind(2, 0x1234500, 0x1234501);
  }
  SECTION("a bind beyond the region") {
    const auto key = *r.subject.memory().allocate_window(Subject::kDomain, WindowType::type_2b);
    r.bind(2, key, key, Subject::kSize + 1);
  }
  r.subject.post(SendOperation::send, 3, 0, 8);
  CHECK(r.subject.transmit().empty());
  CHECK(describe(r.subject.sent()) ==
        Lines{"2 memory management operation error", "3 Work Request Flushed Error"});
  CHECK(r.subject.qp().state() == transport::QueuePairState::error);
}

TEST_CASE("11.6.2 A local request that fails behind others lets them complete first") {
  Requests r;
  r.subject.post(SendOperation::send, 1, 0, 8);
  r.bind(2, 0x1234500, 0x1234501);
  r.subject.post(SendOperation::send, 3, 0, 8);
  CHECK(describe(r.subject.transmit()) == Lines{"RC SEND Only psn 1000 ackreq 8 B"});
  CHECK(r.subject.sent().empty());
  r.subject.deliver(acknowledge(1000));
  CHECK(describe(r.subject.sent()) ==
        Lines{"1 success", "2 memory management operation error", "3 Work Request Flushed Error"});
}

TEST_CASE("11.4.1.1 UC carries local requests out, UD has none") {
  Setup setup;
  setup.service = wire::Service::unreliable_connection;
  Requests uc(setup);
  uc.register_fast(1, uc.fast);
  uc.subject.post(SendOperation::send, 2, 0, 8);
  uc.invalidate(3, uc.fast);
  CHECK(describe(uc.subject.transmit()) == Lines{"UC SEND Only psn 1000 8 B"});
  CHECK(describe(uc.subject.sent()) == Lines{"1 success", "2 success", "3 success"});

  setup.service = wire::Service::unreliable_datagram;
  Requests ud(setup);
  for (const auto operation : {SendOperation::local_invalidate, SendOperation::fast_register,
                               SendOperation::bind_window}) {
    SendRequest request;
    request.operation = operation;
    request.address_handle = 1;
    CHECK(ud.post(request) == PostError::bad_operation);
  }
}

TEST_CASE("11.4.1.1 A registration or bind that says nothing of what is refused") {
  Requests r;
  for (const auto operation : {SendOperation::fast_register, SendOperation::bind_window}) {
    SendRequest request;
    request.operation = operation;
    CHECK(r.post(request) == PostError::bad_operation);
  }
  CHECK(r.subject.sent().empty());
}

TEST_CASE("10.6.7 Peers reach memory through a window, and lose it with it") {
  Requests r;
  const auto key = *r.subject.memory().allocate_window(Subject::kDomain, WindowType::type_2b);
  r.bind(1, key, key ^ 1);
  r.subject.transmit();
  r.subject.deliver(
      write_request(Opcode::rc_write_only, 500, Subject::kBase, key ^ 1, 8, pattern(8, 100))
          .with_ack_request());
  r.subject.deliver(read_request(501, Subject::kBase, key ^ 1, 8));
  const auto answers = r.subject.transmit();
  CHECK(describe(answers) ==
        Lines{"ACK psn 500 msn 1", "RC RDMA READ response Only psn 501 msn 2 8 B"});
  CHECK(answers[1].payload == pattern(8, 100));
  r.subject.deliver(read_request(502, Subject::kBase + 57, key ^ 1, 8));
  CHECK(describe(r.subject.transmit()) == Lines{"NAK Remote Access Error psn 502 msn 2"});
}

}  // namespace softrnic::conformance
