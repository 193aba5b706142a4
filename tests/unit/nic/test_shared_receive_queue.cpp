// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues and completion queues as resources of a NIC: lifetimes, limits, and what
// happens between NICs when they run dry or over.
#include <array>
#include <catch2/catch.hpp>

#include "nic_world.hpp"

namespace softrnic::nic::test {
namespace {

using transport::AsyncEvent;
using transport::CompletionStatus;
using transport::QueuePairState;
using transport::SharedReceiveQueue;
using wire::RoceVersion;
using wire::Service;

constexpr std::size_t kBuffer = 4096;

// A NIC that receives on several queue pairs through one queue, and a peer for each of them.
struct Server {
  explicit Server(NicWorld& its_world, int pairs, std::uint32_t depth = 1024)
      : world(its_world), nic(world.add(1)), client(world.add(2)) {
    Endpoint first = make_endpoint(nic, Service::reliable_connection, kBuffer);
    domain = first.domain;
    keys = first.keys;
    completions = &nic.create_completion_queue(depth);
    queue = nic.create_shared_receive_queue({domain, {16, 2}}).value();
    buffer = std::move(first.buffer);
    REQUIRE_FALSE(nic.destroy_queue_pair(first.qpn()).has_value());
    for (int i = 0; i < pairs; ++i) add_pair();
  }

  void add_pair() {
    QueuePairInit init;
    init.domain = domain;
    init.send_completions = init.receive_completions = completions;
    init.shared_receive_queue = queue;
    Endpoint end;
    end.nic = &nic;
    end.queue_pair = nic.create_queue_pair(init).value();
    Endpoint peer = make_endpoint(client, Service::reliable_connection, kBuffer);
    connect(end, gid("10.0.0.1"), peer, gid("10.0.0.2"), RoceVersion::v2);
    qpns.push_back(end.qpn());
    peers.push_back(std::move(peer));
  }
  void post(std::uint64_t id, std::size_t offset, std::uint32_t length) {
    const transport::Sge sge{reinterpret_cast<std::uintptr_t>(buffer.data()) + offset, length,
                             keys.local};
    REQUIRE_FALSE(queue->post({id, {&sge, 1}}).has_value());
  }
  void send(std::size_t from, std::uint64_t id, std::size_t length) {
    peers[from].send({.id = id}, 0, length);
    world.settle();
  }
  std::vector<transport::Completion> poll() {
    std::vector<transport::Completion> out(completions->size());
    out.resize(completions->poll(out));
    return out;
  }

  NicWorld& world;
  Nic& nic;
  Nic& client;
  transport::ProtectionDomain domain{};
  MemoryKeys keys;
  Bytes buffer;
  CompletionQueue* completions = nullptr;
  SharedReceiveQueue* queue = nullptr;
  std::vector<std::uint32_t> qpns;
  std::vector<Endpoint> peers;
};

std::vector<Event> events_of(Nic& nic) {
  std::vector<Event> events;
  while (const auto event = nic.events().poll()) events.push_back(*event);
  return events;
}

}  // namespace

TEST_CASE("queue pairs of one NIC share receives, and each message lands in its own") {
  NicWorld world;
  Server server(world, 3);
  for (std::uint64_t i = 0; i < 6; ++i) server.post(i, i * 600, 600);
  for (std::size_t i = 0; i < 3; ++i) {
    server.peers[i].buffer = random_bytes(kBuffer, static_cast<std::uint32_t>(i) + 1);
    RegionAttributes region;
    region.domain = server.peers[i].domain;
    region.base = server.peers[i].buffer.data();
    region.length = kBuffer;
    region.access = transport::kLocalWrite;
    server.peers[i].keys = server.client.memory().add(region).value();
  }
  constexpr std::array<std::size_t, 6> kFrom{0, 1, 2, 2, 0, 1};
  for (std::size_t i = 0; i < kFrom.size(); ++i) server.send(kFrom[i], i, 500 + i);

  const auto done = server.poll();
  REQUIRE(done.size() == kFrom.size());
  for (std::size_t i = 0; i < done.size(); ++i) {
    CHECK(done[i].id == i);
    CHECK(done[i].status == CompletionStatus::success);
    CHECK(done[i].qpn == server.qpns[kFrom[i]]);
    CHECK(done[i].byte_length == 500 + i);
    const Bytes& sent = server.peers[kFrom[i]].buffer;
    CHECK(std::equal(sent.begin(), sent.begin() + 500 + static_cast<std::ptrdiff_t>(i),
                     server.buffer.begin() + static_cast<std::ptrdiff_t>(i * 600)));
  }
  CHECK(server.queue->size() == 0);
}

TEST_CASE("an empty shared receive queue makes peers wait, and each goes on when it is filled") {
  NicWorld world;
  Server server(world, 4);
  REQUIRE(server.queue->arm(1));  // reached at once: it is empty
  CHECK(events_of(server.nic) ==
        std::vector<Event>{{AsyncEvent::shared_receive_queue_limit, server.queue->number()}});
  for (std::size_t i = 0; i < 4; ++i) server.send(i, i, 8);
  CHECK(server.poll().empty());
  CHECK(server.nic.counters().send_rnr_err >= 4);
  for (std::uint64_t i = 0; i < 4; ++i) server.post(i, i * 16, 16);
  world.run_for(std::chrono::seconds(1));
  CHECK(server.poll().size() == 4);
  for (Endpoint& peer : server.peers) {
    const auto done = peer.poll();
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == CompletionStatus::success);
  }
}

TEST_CASE("the limit event names its queue, and is gone with it") {
  NicWorld world;
  Server server(world, 2);
  for (std::uint64_t i = 0; i < 4; ++i) server.post(i, 0, 16);
  REQUIRE(server.queue->arm(3));
  server.send(0, 1, 4);
  CHECK(events_of(server.nic).empty());
  server.send(1, 2, 4);
  const Event expected{AsyncEvent::shared_receive_queue_limit, server.queue->number()};
  CHECK(events_of(server.nic) == std::vector<Event>{expected});

  REQUIRE(server.queue->arm(8));
  for (const std::uint32_t qpn : server.qpns) {
    CHECK(server.nic.destroy_shared_receive_queue(*server.queue) == ResourceError::busy);
    REQUIRE_FALSE(server.nic.destroy_queue_pair(qpn).has_value());
  }
  REQUIRE_FALSE(server.nic.destroy_shared_receive_queue(*server.queue).has_value());
  CHECK(events_of(server.nic).empty());
}

TEST_CASE("shared receive queues are refused for what is wrong with them, and keep what they use") {
  NicWorld world;
  Nic& nic = world.add(1);
  Nic& other = world.add(2);
  const auto domain = nic.allocate_domain();
  CHECK(nic.create_shared_receive_queue({}).error() == ResourceError::bad_domain);
  CHECK(nic.create_shared_receive_queue({domain, {1u << 20, 1}}).error() ==
        ResourceError::bad_capacity);
  CHECK(nic.create_shared_receive_queue({domain, {1, 33}}).error() == ResourceError::bad_capacity);
  SharedReceiveQueue& queue = *nic.create_shared_receive_queue({domain, {8, 32}}).value();
  SharedReceiveQueue& second = *nic.create_shared_receive_queue({domain, {8, 1}}).value();
  CHECK(queue.number() != second.number());
  CHECK(nic.free_domain(domain) == ResourceError::busy);

  CHECK(other.destroy_shared_receive_queue(queue) == ResourceError::bad_shared_receive_queue);
  CHECK(other.resize_shared_receive_queue(queue, 9) == ResourceError::bad_shared_receive_queue);
  QueuePairInit init;
  init.domain = other.allocate_domain();
  init.send_completions = init.receive_completions = &other.create_completion_queue(8);
  init.shared_receive_queue = &queue;
  CHECK(other.create_queue_pair(init).error() == ResourceError::bad_shared_receive_queue);

  REQUIRE_FALSE(queue.post({1, {}}).has_value());
  REQUIRE_FALSE(queue.post({2, {}}).has_value());
  CHECK(nic.resize_shared_receive_queue(queue, 1) == ResourceError::bad_capacity);
  CHECK(nic.resize_shared_receive_queue(queue, 1u << 20) == ResourceError::bad_capacity);
  CHECK_FALSE(nic.resize_shared_receive_queue(queue, 2).has_value());
  CHECK(queue.post({3, {}}) == transport::PostError::queue_full);

  REQUIRE_FALSE(nic.destroy_shared_receive_queue(queue).has_value());
  REQUIRE_FALSE(nic.destroy_shared_receive_queue(second).has_value());
  CHECK_FALSE(nic.free_domain(domain).has_value());
}

TEST_CASE("numbers of shared receive queues come back late") {
  NicWorld world;
  Nic& nic = world.add(1);
  const auto domain = nic.allocate_domain();
  std::uint32_t last = 0;
  for (int i = 0; i < 100; ++i) {
    SharedReceiveQueue& queue = *nic.create_shared_receive_queue({domain, {1, 1}}).value();
    CHECK(queue.number() == last + 1);
    last = queue.number();
    REQUIRE_FALSE(nic.destroy_shared_receive_queue(queue).has_value());
  }
}

TEST_CASE("a completion queue that overruns says so and takes all its queue pairs with it") {
  NicWorld world;
  Server server(world, 3, 2);
  Endpoint apart = make_endpoint(server.nic, Service::reliable_connection, 64);
  QueuePairInit init;
  init.domain = server.domain;
  init.send_completions = init.receive_completions = server.completions;
  transport::QueuePair* fresh = server.nic.create_queue_pair(init).value();
  for (std::uint64_t i = 0; i < 8; ++i) server.post(i, 0, 16);
  server.send(0, 1, 4);
  server.send(1, 2, 4);
  CHECK(events_of(server.nic).empty());
  server.send(0, 3, 4);

  const auto events = events_of(server.nic);
  REQUIRE_FALSE(events.empty());
  CHECK(std::count(events.begin(), events.end(),
                   Event{AsyncEvent::completion_queue_error, server.completions->number()}) == 1);
  for (const std::uint32_t qpn : server.qpns) {
    CHECK(server.nic.find_queue_pair(qpn)->state() == QueuePairState::error);
    CHECK(std::count(events.begin(), events.end(), Event{AsyncEvent::queue_pair_fatal, qpn}) == 1);
    CHECK(std::count(events.begin(), events.end(), Event{AsyncEvent::last_request_reached, qpn}) ==
          1);
  }
  CHECK(fresh->state() == QueuePairState::reset);
  CHECK(apart.queue_pair->state() == QueuePairState::reset);
  const auto done = server.poll();
  REQUIRE(done.size() == 2);
  CHECK(done[0].status == CompletionStatus::success);
  CHECK(done[1].status == CompletionStatus::success);
  // The message that found no room was not acknowledged as received.
  const auto failed = server.peers[0].poll();
  REQUIRE(failed.size() == 2);
  CHECK(failed[1].status == CompletionStatus::remote_operational_error);
}

TEST_CASE("completion queues have numbers of their own and are resized within limits") {
  NicWorld world;
  Nic& nic = world.add(1);
  Nic& other = world.add(2);
  CompletionQueue& a = nic.create_completion_queue(4);
  CompletionQueue& b = nic.create_completion_queue(4);
  CHECK(a.number() != b.number());
  CHECK(nic.resize_completion_queue(a, 100) == std::nullopt);
  CHECK(a.depth() == 100);
  REQUIRE(a.complete({.id = 1}));
  REQUIRE(a.complete({.id = 2}));
  CHECK(nic.resize_completion_queue(a, 1) == ResourceError::bad_capacity);
  CHECK(nic.resize_completion_queue(a, 0xffffffff) == ResourceError::bad_capacity);
  CHECK(other.resize_completion_queue(a, 8) == ResourceError::bad_completion_queue);
  CHECK(a.depth() == 100);
}

}  // namespace softrnic::nic::test
