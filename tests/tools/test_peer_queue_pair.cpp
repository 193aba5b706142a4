// SPDX-License-Identifier: BSD-3-Clause
// The peer's queue pair on a wire in memory, under a virtual clock: what comes back, and to whom.
#include <catch2/catch.hpp>
#include <numeric>

#include "link/memory_link.hpp"
#include "peer_queue_pair.hpp"

using namespace softrnic;
using namespace softrnic::tools;

namespace {

constexpr std::uint32_t kQueueKey = 0x11111111;
constexpr std::size_t kGrh = 40;

std::unique_ptr<nic::Nic> make_nic(link::MemoryWire& wire, std::uint8_t number) {
  nic::NicConfig config;
  config.mac.bytes = {2, 0, 0, 0, 0, number};
  config.addresses = {
      *nic::InterfaceAddress::from_string("10.0.0." + std::to_string(number) + "/24"),
      *nic::InterfaceAddress::from_string("fd00::" + std::to_string(number) + "/64")};
  config.seed = number;
  return std::make_unique<nic::Nic>(config, wire.attach("port" + std::to_string(number)));
}

// A user's queue pair, and beside it the peer under test.
struct Bench {
  link::MemoryWire wire;
  std::unique_ptr<nic::Nic> ours = make_nic(wire, 1);
  std::unique_ptr<nic::Nic> theirs = make_nic(wire, 2);
  std::vector<std::byte> memory = std::vector<std::byte>(16384);
  transport::ProtectionDomain domain = ours->allocate_domain();
  nic::MemoryKeys keys = *ours->memory().add({.domain = domain,
                                              .base = memory.data(),
                                              .length = memory.size(),
                                              .access = transport::kLocalWrite,
                                              .virtual_address = 0,
                                              .key = {}});
  nic::CompletionQueue& completions = ours->create_completion_queue(64);
  wire::Instant now{};
  PeerQueuePairOptions options;
  std::uint32_t qpn = 0;
  std::unique_ptr<PeerQueuePair> peer;
  std::vector<std::string> troubles;

  Bench(wire::Service service, std::uint32_t gid_index) {
    options.service = service;
    options.gid_index = gid_index;
    options.receives = 4;
    options.message_size = 4096;
    nic::QueuePairInit init;
    init.type = transport::type_of(service);
    init.domain = domain;
    init.send_completions = &completions;
    init.receive_completions = &completions;
    qpn = (*ours->create_queue_pair(init))->qpn();
    peer = std::make_unique<PeerQueuePair>(*theirs, theirs->allocate_domain(), options, 500);
    connect();
  }

  void connect() {
    const wire::Gid our_gid = ours->gids().find(options.gid_index)->gid;
    transport::QueuePairAttributes attributes;
    attributes.queue_key = kQueueKey;
    attributes.destination_qpn = peer->local().qpn;
    attributes.receive_psn = wire::Psn(500);
    attributes.send_psn = wire::Psn(700);
    nic::AddressAttributes address;
    address.gid_index = options.gid_index;
    address.destination = peer->local().gid;
    using transport::QueuePairState;
    for (const auto state :
         {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
      REQUIRE_FALSE(ours->modify(qpn, state, attributes, &address));
    }
    if (options.service != wire::Service::unreliable_datagram) {
      peer->connect({0, qpn, 700, our_gid});
    }
  }

  transport::SendRequest request(const transport::Sge& sge) {
    transport::SendRequest request;
    request.sges = {&sge, sge.length == 0 ? 0u : 1u};
    if (options.service == wire::Service::unreliable_datagram) {
      nic::AddressAttributes address;
      address.gid_index = options.gid_index;
      address.destination = peer->local().gid;
      request.address_handle = *ours->create_address_handle(domain, address);
      request.remote_qpn = peer->local().qpn;
      request.remote_queue_key = kQueueKey;
    }
    return request;
  }

  // Until this many receives have completed.
  std::vector<transport::Completion> receive(std::size_t count) {
    std::vector<transport::Completion> received;
    const wire::Instant end = now + std::chrono::seconds(10);
    while (received.size() < count && now < end) {
      const bool busy = static_cast<int>(ours->turn(now)) | static_cast<int>(theirs->turn(now));
      if (const auto trouble = peer->turn()) troubles.push_back(*trouble);
      transport::Completion completion;
      while (completions.poll({&completion, 1}) == 1) {
        if (completion.operation == transport::CompletionOperation::receive) {
          received.push_back(completion);
        }
      }
      const wire::Instant next = std::min(ours->next_deadline(), theirs->next_deadline());
      now = busy ? now + wire::Duration(1000) : std::clamp(next, now + wire::Duration(1), end);
    }
    return received;
  }
};

}  // namespace

TEST_CASE("the peer sends back what it got, over every service and kind of GID") {
  const auto service =
      GENERATE(wire::Service::reliable_connection, wire::Service::unreliable_connection,
               wire::Service::unreliable_datagram);
  const auto gid_index = GENERATE(range(0u, 6u));
  const std::uint32_t length = GENERATE(0u, 1u, 999u, 1024u);
  INFO(wire::to_string(service) << ", GID " << gid_index << ", " << length << " bytes");
  Bench bench(service, gid_index);
  const bool datagram = service == wire::Service::unreliable_datagram;
  const std::uint32_t grh = datagram ? kGrh : 0;
  std::iota(reinterpret_cast<std::uint8_t*>(bench.memory.data()),
            reinterpret_cast<std::uint8_t*>(bench.memory.data()) + length, std::uint8_t{7});

  const transport::Sge room{8192, 4096, bench.keys.local};
  const transport::Sge sge{0, length, bench.keys.local};
  REQUIRE_FALSE(bench.ours->post_receive(bench.qpn, {1, {&room, 1}}));
  REQUIRE_FALSE(bench.ours->post_send(bench.qpn, bench.request(sge)));
  const auto received = bench.receive(1);
  REQUIRE(received.size() == 1);
  CHECK(received[0].status == transport::CompletionStatus::success);
  CHECK(received[0].byte_length == length + grh);
  CHECK(std::equal(bench.memory.begin(), bench.memory.begin() + length,
                   bench.memory.begin() + 8192 + grh));
  CHECK(bench.peer->messages() == 1);
  CHECK(bench.troubles.empty());
}

TEST_CASE("an immediate comes back with its message") {
  Bench bench(wire::Service::reliable_connection, 3);
  const transport::Sge room{8192, 4096, bench.keys.local};
  const transport::Sge sge{0, 10, bench.keys.local};
  auto send = bench.request(sge);
  send.operation = transport::SendOperation::send_with_immediate;
  send.immediate = 0x12345678;
  REQUIRE_FALSE(bench.ours->post_receive(bench.qpn, {1, {&room, 1}}));
  REQUIRE_FALSE(bench.ours->post_send(bench.qpn, send));
  const auto received = bench.receive(1);
  REQUIRE(received.size() == 1);
  CHECK(received[0].has_immediate);
  CHECK(received[0].immediate == 0x12345678);
}

TEST_CASE("receives are posted anew: more messages than receives come back in order") {
  Bench bench(wire::Service::reliable_connection, 3);
  constexpr std::uint32_t kCount = 20;
  const transport::Sge room{8192, 4096, bench.keys.local};
  for (std::uint32_t i = 1; i <= kCount; ++i) {
    const transport::Sge sge{0, i, bench.keys.local};
    REQUIRE_FALSE(bench.ours->post_receive(bench.qpn, {i, {&room, 1}}));
    REQUIRE_FALSE(bench.ours->post_send(bench.qpn, bench.request(sge)));
  }
  const auto received = bench.receive(kCount);
  REQUIRE(received.size() == kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    CHECK(received[i].id == i + 1);
    CHECK(received[i].byte_length == i + 1);
  }
  CHECK(bench.peer->messages() == kCount);
}

TEST_CASE("a message too long for the peer breaks the queue pair, and it says so once") {
  Bench bench(wire::Service::reliable_connection, 3);
  const transport::Sge sge{0, 4097, bench.keys.local};
  REQUIRE_FALSE(bench.ours->post_send(bench.qpn, bench.request(sge)));
  bench.receive(1);
  CHECK(bench.troubles.size() == 1);
}
