// SPDX-License-Identifier: BSD-3-Clause
// Completion queues (10.2.6): what enters them, what they tell and whom, and what happens when they
// have no room.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "conformance/subject.hpp"

namespace softrnic::conformance {

using nic::CompletionQueue;
using transport::AsyncEvent;
using transport::CompletionStatus;
using transport::QueuePairState;
using transport::SendOperation;
using wire::Opcode;
using Notify = CompletionQueue::Notify;

namespace {

struct Heard final : transport::EventSink {
  void raise(AsyncEvent event, std::uint32_t number) override {
    lines.push_back(fmt::format("{} {:#x}", to_string(event), number));
  }
  Lines lines;
};

// A queue armed for `which`, and how often it has told so.
struct Armed {
  explicit Armed(CompletionQueue& its_queue, Notify which) : queue(its_queue) {
    queue.on_notification([this] { ++told; });
    queue.request_notification(which);
  }
  ~Armed() { queue.on_notification({}); }
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;

  CompletionQueue& queue;
  int told = 0;
};

Packet write_with_immediate(std::uint32_t psn) {
  return request(Opcode::rc_write_only_immediate, psn);
}

}  // namespace

TEST_CASE("11.4.2.2 An armed queue tells of the next completion, once") {
  Subject subject;
  Armed armed(subject.send_queue_completions(), Notify::any);
  for (std::uint64_t id = 1; id <= 3; ++id) subject.post(SendOperation::send, id, 0, 4);
  subject.transmit();
  CHECK(armed.told == 0);
  subject.deliver(acknowledge(1001, 2));
  CHECK(armed.told == 1);
  CHECK(armed.queue.armed() == Notify::no);
  subject.deliver(acknowledge(1002, 3));
  CHECK(armed.told == 1);
  CHECK(describe(subject.sent()) == Lines{"1 success", "2 success", "3 success"});
}

TEST_CASE("11.4.2.2 An unsignaled request completes without an entry, and tells nobody") {
  Subject subject;
  Armed armed(subject.send_queue_completions(), Notify::any);
  subject.post(SendOperation::send, 1, 0, 4, [](auto& r) { r.signaled = false; });
  subject.post(SendOperation::send, 2, 0, 4);
  subject.transmit();
  subject.deliver(acknowledge(1000, 1));
  CHECK(armed.told == 0);
  subject.deliver(acknowledge(1001, 2));
  CHECK(armed.told == 1);
  CHECK(describe(subject.sent()) == Lines{"2 success"});
}

TEST_CASE("11.4.2.2 What was there before the queue was armed brings no notification") {
  Subject subject;
  subject.post(SendOperation::send, 1, 0, 4);
  subject.transmit();
  subject.deliver(acknowledge(1000, 1));
  CompletionQueue& queue = subject.send_queue_completions();
  int told = 0;
  queue.on_notification([&] { ++told; });
  CHECK(queue.request_notification(Notify::any));  // but the caller is told to poll
  CHECK(told == 0);
  CHECK(describe(subject.sent()) == Lines{"1 success"});
  CHECK_FALSE(queue.request_notification(Notify::any));
}

TEST_CASE("11.4.2.2 Armed for solicited completions, a queue tells of those alone") {
  Subject subject;
  Armed armed(subject.receive_queue_completions(), Notify::solicited);
  for (std::uint64_t id = 1; id <= 6; ++id) subject.post_receive(id, 0, 512);

  subject.deliver(send_only(500, pattern(4)));
  subject.deliver(write_with_immediate(501));
  CHECK(armed.told == 0);
  // The bit counts with the last packet of its message (9.2.3).
  subject.deliver(request(Opcode::rc_send_first, 502, pattern(256)).solicited());
  CHECK(armed.told == 0);
  subject.deliver(request(Opcode::rc_send_last, 503, pattern(4)));
  CHECK(armed.told == 0);
  subject.deliver(request(Opcode::rc_send_first, 504, pattern(256)));
  subject.deliver(request(Opcode::rc_send_last, 505, pattern(4)).solicited());
  CHECK(armed.told == 1);

  armed.queue.request_notification(Notify::solicited);
  subject.deliver(write_with_immediate(506).solicited());
  CHECK(armed.told == 2);
  const auto done = subject.received();
  REQUIRE(done.size() == 5);
  for (std::size_t i = 0; i < done.size(); ++i) CHECK(done[i].solicited == (i >= 3));
}

TEST_CASE("11.4.2.2 A failed completion counts as solicited, on either queue") {
  Subject subject;
  Armed sends(subject.send_queue_completions(), Notify::solicited);
  Armed receives(subject.receive_queue_completions(), Notify::solicited);
  subject.post(SendOperation::send, 1, 0, 4);
  subject.post(SendOperation::send, 2, 0, 4);
  subject.post_receive(3, 0, 64);
  subject.transmit();
  subject.deliver(acknowledge(1000, 1));
  CHECK(sends.told == 0);
  subject.deliver(nak(1001, wire::NakCode::remote_access_error, 1));
  CHECK(sends.told == 1);
  CHECK(receives.told == 1);  // the receive was flushed
  CHECK(describe(subject.received()) == Lines{"3 Work Request Flushed Error"});
}

TEST_CASE(
    "11.4.2.2 Armed for any completion, a queue is not narrowed, and armed for some it widens") {
  Subject subject;
  CompletionQueue& queue = subject.receive_queue_completions();
  Armed armed(queue, Notify::any);
  queue.request_notification(Notify::solicited);
  CHECK(queue.armed() == Notify::any);
  subject.post_receive(1, 0, 64);
  subject.post_receive(2, 0, 64);
  subject.deliver(send_only(500));
  CHECK(armed.told == 1);

  queue.request_notification(Notify::solicited);
  queue.request_notification(Notify::any);
  subject.deliver(send_only(501));
  CHECK(armed.told == 2);
}

TEST_CASE("11.4.2.2 A waiter that polls until empty and arms again misses nothing") {
  Subject subject;
  CompletionQueue& queue = subject.receive_queue_completions();
  int told = 0;
  std::size_t taken = 0;
  queue.on_notification([&] { ++told; });
  for (std::uint32_t i = 0; i < 10; ++i) {
    const bool waiting = queue.request_notification(Notify::any);
    CHECK_FALSE(waiting);
    subject.post_receive(i, 0, 64);
    subject.deliver(send_only(500 + i));
    REQUIRE(told == static_cast<int>(i) + 1);
    taken += subject.received().size();
  }
  CHECK(taken == 10);
}

TEST_CASE("10.10.3 A full queue is in error, says so once, and keeps what it has") {
  Heard heard;
  CompletionQueue queue(2, 0x9, heard);
  int told = 0;
  queue.on_notification([&] { ++told; });
  CHECK(queue.complete({.id = 1}));
  CHECK(queue.complete({.id = 2}));
  queue.request_notification(Notify::any);
  CHECK_FALSE(queue.complete({.id = 3}));
  CHECK(queue.overrun());
  CHECK(heard.lines == Lines{"CQ error 0x9"});
  CHECK(told == 0);  // nothing came in
  std::array<transport::Completion, 4> out;
  REQUIRE(queue.poll(out) == 2);
  CHECK(out[0].id == 1);
  CHECK(out[1].id == 2);
  CHECK_FALSE(queue.complete({.id = 4}));
  REQUIRE(queue.resize(16));  // more room does not heal it
  CHECK_FALSE(queue.complete({.id = 5}));
  CHECK(queue.size() == 0);
  CHECK(heard.lines.size() == 1);
}

TEST_CASE("10.10.3 A message whose receive cannot complete is not acknowledged") {
  Setup setup;
  setup.completions = 1;
  Subject subject(setup);
  subject.post_receive(1, 0, 64);
  subject.post_receive(2, 0, 64);
  subject.deliver(send_only(500, pattern(4)));
  subject.deliver(send_only(501, pattern(4)));
  CHECK(describe(subject.transmit()) ==
        Lines{"ACK psn 500 msn 1", "NAK Remote Operational Error psn 501 msn 1"});
  CHECK(subject.qp().state() == QueuePairState::error);
  CHECK(describe(subject.received()) == Lines{"1 success"});
}

TEST_CASE("10.2.6 A completion queue is resized with what waits in it, in its order") {
  CompletionQueue queue(4);
  std::array<transport::Completion, 16> out;
  const auto fill = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t id = from; id < to; ++id) REQUIRE(queue.complete({.id = id}));
  };
  fill(0, 4);
  REQUIRE(queue.poll({out.data(), 2}) == 2);
  fill(4, 6);  // across the ring's end
  CHECK_FALSE(queue.resize(3));
  CHECK(queue.depth() == 4);
  REQUIRE(queue.resize(7));
  CHECK(queue.depth() == 7);
  fill(6, 9);
  REQUIRE(queue.poll(out) == 7);
  for (std::uint64_t i = 0; i < 7; ++i) CHECK(out[i].id == i + 2);
  REQUIRE(queue.resize(1));
  fill(20, 21);
  CHECK_FALSE(queue.overrun());
  CHECK_FALSE(queue.complete({.id = 21}));
  CHECK(queue.overrun());
}

TEST_CASE("10.2.6 A queue stays armed when it is resized") {
  CompletionQueue queue(1);
  Armed armed(queue, Notify::solicited);
  REQUIRE(queue.resize(8));
  CHECK(queue.complete({.id = 1}));
  CHECK(armed.told == 0);
  CHECK(queue.complete({.id = 2, .solicited = true}));
  CHECK(armed.told == 1);
}

}  // namespace softrnic::conformance
