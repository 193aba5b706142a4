// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "conversation.hpp"
#include "transport/receive_ring.hpp"
#include "transport/send_queue.hpp"

using namespace softrnic::transport;
using namespace softrnic::transport::test;

TEST_CASE("send queue: keeps order, copies elements, refuses what does not fit", "[queues]") {
  SendQueue queue({.send_requests = 3, .send_sges = 2});
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      Sge sges[2] = {{i, 10, 1}, {i + 100, 5, 1}};
      REQUIRE_FALSE(queue.push({.id = i, .sges = sges}));
      sges[0].address = 999;
    }
    REQUIRE(queue.push({.id = 9}) == PostError::queue_full);
    for (std::uint64_t i = 0; i < 3; ++i) {
      REQUIRE(queue[0].request.id == i);
      REQUIRE(queue[0].length == 15);
      REQUIRE(queue[0].request.sges[0].address == i);
      queue.pop();
    }
  }
  const Sge three[3] = {};
  REQUIRE(queue.push({.sges = three}) == PostError::too_many_sges);
  const Sge huge[2] = {{0, 0x80000000u, 1}, {0, 1, 1}};
  REQUIRE(queue.push({.sges = huge}) == PostError::message_too_long);
}

TEST_CASE("send queue: an ATOMIC WRITE brings its eight bytes whatever the inline limit",
          "[queues]") {
  for (const std::uint32_t limit : {0u, 4u, 32u}) {
    SendQueue queue({.send_requests = 2, .send_sges = 1, .inline_bytes = limit});
    std::array<std::byte, 40> bytes{};
    bytes[7] = std::byte{7};
    const auto post = [&](SendOperation operation, std::size_t size) {
      return queue.push({.operation = operation, .inline_data = std::span(bytes).first(size)});
    };
    REQUIRE_FALSE(post(SendOperation::atomic_write, 8));
    bytes[7] = std::byte{9};
    REQUIRE_FALSE(post(SendOperation::atomic_write, 8));
    CHECK(queue[0].request.inline_data[7] == std::byte{7});
    CHECK(queue[1].request.inline_data[7] == std::byte{9});
    queue.clear();
    CHECK(post(SendOperation::atomic_write, std::max(limit, 8u) + 1) == PostError::bad_inline);
    CHECK(post(SendOperation::send, limit + 1) == PostError::bad_inline);
    CHECK_FALSE(post(SendOperation::send, limit));
    bytes[7] = std::byte{7};
  }
}

TEST_CASE("receive ring: wraps and keeps order", "[queues]") {
  ReceiveRing queue(2, 1);
  for (std::uint64_t i = 0; i < 9; ++i) {
    const Sge sge{i, static_cast<std::uint32_t>(i), 1};
    REQUIRE_FALSE(queue.push({.id = i, .sges = {&sge, 1}}));
    REQUIRE(queue.front().id == i);
    REQUIRE(queue.front().length == i);
    queue.pop();
  }
}

TEST_CASE("queue pair: only the standard's transitions", "[states]") {
  using enum QueuePairState;
  Conversation c;
  QueuePair& qp = c.ends[0].qp;
  const QueuePairAttributes a = qp.attributes();
  REQUIRE(qp.modify(init, a) == ModifyError::illegal_transition);
  REQUIRE_FALSE(qp.modify(reset, a));
  REQUIRE(qp.modify(ready_to_receive, a) == ModifyError::illegal_transition);
  REQUIRE(qp.post_receive({}) == PostError::bad_state);
  REQUIRE_FALSE(qp.modify(init, a));
  REQUIRE(qp.post_send({}) == PostError::bad_state);
  REQUIRE_FALSE(qp.post_receive({.id = 5}));
  QueuePairAttributes bad = a;
  bad.path_mtu = 1000;
  REQUIRE(qp.modify(ready_to_receive, bad) == ModifyError::bad_attribute);
  REQUIRE_FALSE(qp.modify(ready_to_receive, a));
  REQUIRE_FALSE(qp.modify(ready_to_send, a));
  REQUIRE_FALSE(qp.post_send({.id = 6}));
  REQUIRE_FALSE(qp.modify(error, a));
  REQUIRE(c.ends[0].sends.completions.size() == 1);
  REQUIRE(c.ends[0].sends.completions[0].status == CompletionStatus::work_request_flushed);
  REQUIRE(c.ends[0].receives.completions.size() == 1);
  REQUIRE_FALSE(qp.post_send({.id = 7}));
  REQUIRE(c.ends[0].sends.completions.back().id == 7);
}

TEST_CASE("UC: whole messages or none, whatever is lost", "[uc]") {
  QueuePairAttributes a;
  a.path_mtu = 256;
  for (std::size_t lost = 0; lost < 12; ++lost) {
    Conversation c(a, softrnic::wire::Service::unreliable_connection);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const Sge in{0x8000 + i * 0x1000, 0x1000, FlatMemory::kKey};
      REQUIRE_FALSE(c.ends[1].qp.post_receive({.id = i, .sges = {&in, 1}}));
      const Sge out{0x1000 + i * 0x1000, 700, FlatMemory::kKey};
      for (std::size_t k = 0; k < 700; ++k) {
        c.ends[0].memory.bytes[0x1000 + i * 0x1000 + k] = static_cast<std::byte>(i + k);
      }
      REQUIRE_FALSE(c.ends[0].qp.post_send({.id = i, .sges = {&out, 1}}));
    }
    c.fate = [&](std::size_t n, const SentPacket&) {
      return n == lost ? Fate::drop : Fate::deliver;
    };
    c.run();
    REQUIRE(c.ends[0].sends.completions.size() == 4);
    const auto& got = c.ends[1].receives.completions;
    REQUIRE(got.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      REQUIRE(got[i].byte_length == 700);
      const std::size_t source = i < lost / 3 ? i : i + 1;
      const auto* at = c.ends[1].memory.bytes.data() + 0x8000 + got[i].id * 0x1000;
      REQUIRE(std::equal(at, at + 700, c.ends[0].memory.bytes.data() + 0x1000 + source * 0x1000));
    }
  }
}

TEST_CASE("UD: wrong Q_Key, short receive and no receive lose the datagram and nothing else",
          "[ud]") {
  QueuePairAttributes a;
  a.queue_key = 0x11111111;
  Conversation c(a, softrnic::wire::Service::unreliable_datagram);
  const Sge out{0, 100, FlatMemory::kKey};
  const auto send = [&](std::uint64_t id, std::uint32_t queue_key) {
    SendRequest r{.id = id, .sges = {&out, 1}};
    r.address_handle = 1;
    r.remote_qpn = Conversation::kQpns[1];
    r.remote_queue_key = queue_key;
    REQUIRE_FALSE(c.ends[0].qp.post_send(r));
    c.run();
  };
  const auto receive = [&](std::uint64_t id, std::uint32_t size) {
    const Sge in{0x8000, size, FlatMemory::kKey};
    REQUIRE_FALSE(c.ends[1].qp.post_receive({.id = id, .sges = {&in, 1}}));
  };
  send(1, 0x11111111);
  REQUIRE(c.ends[1].counters.out_of_buffer == 1);
  receive(1, 139);
  send(2, 0x11111111);
  REQUIRE(c.ends[1].counters.unreliable_dropped == 2);
  REQUIRE(c.ends[1].receives.completions.empty());
  REQUIRE_FALSE(c.ends[1].qp.modify(QueuePairState::error, a));
  REQUIRE(c.ends[1].receives.completions.size() == 1);

  Conversation d(a, softrnic::wire::Service::unreliable_datagram);
  const Sge in{0x8000, 140, FlatMemory::kKey};
  REQUIRE_FALSE(d.ends[1].qp.post_receive({.id = 3, .sges = {&in, 1}}));
  SendRequest r{.id = 1, .sges = {&out, 1}};
  r.address_handle = 1;
  r.remote_qpn = Conversation::kQpns[1];
  r.remote_queue_key = 0x22222222;
  REQUIRE_FALSE(d.ends[0].qp.post_send(r));
  d.run();
  REQUIRE(d.ends[1].counters.qkey_violations == 1);
  r.remote_queue_key = 0x80000000;  // the sender's own key
  REQUIRE_FALSE(d.ends[0].qp.post_send(r));
  d.run();
  REQUIRE(d.ends[1].receives.completions.size() == 1);
  REQUIRE(d.ends[1].receives.completions[0].byte_length == 140);
  REQUIRE(d.ends[1].receives.completions[0].source_qpn == Conversation::kQpns[0]);
}
