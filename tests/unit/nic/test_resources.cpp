// SPDX-License-Identifier: BSD-3-Clause
// Making, changing and giving up what a verbs user knows.
#include <catch2/catch.hpp>
#include <set>

#include "nic_world.hpp"

namespace softrnic::nic::test {
namespace {

using transport::QueuePairState;
using wire::RoceVersion;
using wire::Service;

TEST_CASE("the active path MTU fits the link's MTU") {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected{
      {1500, 1024}, {4200, 4096}, {9000, 4096}, {4175, 2048}, {4176, 4096},
      {1103, 512},  {1104, 1024}, {336, 256},   {335, 0}};
  for (const auto& [link_mtu, path_mtu] : expected) {
    INFO("link MTU " << link_mtu);
    NicWorld world(link_mtu);
    CHECK(world.add(1).active_mtu() == path_mtu);
  }
}

TEST_CASE("a NIC without a MAC address draws a local one from its seed") {
  NicWorld world;
  NicConfig config;
  config.seed = 5;
  const wire::MacAddress first = world.add(config).mac();
  CHECK_FALSE(first.is_multicast());
  CHECK((first.bytes[0] & 2) == 2);
  CHECK(world.add(config).mac() == first);
  config.seed = 0;
  CHECK(world.add(config).mac() != world.add(config).mac());
}

TEST_CASE("queue pairs are refused for what is wrong with them") {
  NicWorld world;
  NicConfig config = NicWorld::config(1);
  config.limits.queue_pairs = 3;
  Nic& nic = world.add(config);
  CompletionQueue foreign(1);
  QueuePairInit good;
  good.domain = nic.allocate_domain();
  good.send_completions = good.receive_completions = &nic.create_completion_queue(8);
  const auto error_of = [&nic](const QueuePairInit& init) {
    const auto result = nic.create_queue_pair(init);
    REQUIRE_FALSE(result.has_value());
    return result.error();
  };
  QueuePairInit init = good;
  init.domain = {};
  CHECK(error_of(init) == ResourceError::bad_domain);
  init = good;
  init.send_completions = nullptr;
  CHECK(error_of(init) == ResourceError::bad_completion_queue);
  init = good;
  init.receive_completions = &foreign;
  CHECK(error_of(init) == ResourceError::bad_completion_queue);
  init = good;
  init.type = transport::QueuePairType{};
  CHECK(error_of(init) == ResourceError::bad_service);
  init = good;
  init.capacity.send_requests = 0xffffffff;
  CHECK(error_of(init) == ResourceError::bad_capacity);
  init = good;
  init.capacity.receive_sges = 33;
  CHECK(error_of(init) == ResourceError::bad_capacity);
  init.capacity = {};
  init.capacity.inline_bytes = 1025;
  CHECK(error_of(init) == ResourceError::bad_capacity);
  for (const std::uint32_t qpn : {0u, 1u, 0xffffffu, 0x1000011u}) {
    init = good;
    init.qpn = qpn;
    CHECK(error_of(init) == ResourceError::bad_attribute);
  }

  CHECK(nic.create_queue_pair(good).value()->qpn() == 0x11);
  init = good;
  init.qpn = 0x12;
  CHECK(nic.create_queue_pair(init).value()->qpn() == 0x12);
  CHECK(error_of(init) == ResourceError::qpn_in_use);
  CHECK(nic.create_queue_pair(good).value()->qpn() == 0x13);
  CHECK(error_of(good) == ResourceError::table_full);
  CHECK(nic.queue_pairs() == 3);
  CHECK_FALSE(nic.destroy_queue_pair(0x11));
  CHECK(nic.destroy_queue_pair(0x11) == ResourceError::no_such_queue_pair);
  CHECK(nic.find_queue_pair(0x11) == nullptr);
  CHECK(nic.create_queue_pair(good).value()->qpn() == 0x14);  // 0x11 rests
}

TEST_CASE("a queue pair without room for any request takes none") {
  NicWorld world;
  Nic& nic = world.add(1);
  QueuePairInit init;
  init.domain = nic.allocate_domain();
  init.send_completions = init.receive_completions = &nic.create_completion_queue(0);
  init.capacity = {0, 0, 0, 0};
  Endpoint e;
  e.nic = &nic;
  e.queue_pair = nic.create_queue_pair(init).value();
  AddressAttributes to;
  to.gid_index = 2;
  to.destination = gid("10.0.0.2");
  bring_up(e, attributes_to(5), &to);
  CHECK(nic.post_send(e.qpn(), {}) == transport::PostError::queue_full);
  CHECK(nic.post_receive(e.qpn(), {}) == transport::PostError::queue_full);
  CHECK(nic.post_send(0x999, {}) == transport::PostError::bad_state);
  CHECK(nic.post_receive(0x999, {}) == transport::PostError::bad_state);
}

TEST_CASE("what is in use is not given up") {
  NicWorld world;
  Nic& nic = world.add(1);
  Endpoint e = make_endpoint(nic, Service::unreliable_datagram, 64);
  CompletionQueue foreign(1);
  CHECK(nic.destroy_completion_queue(foreign) == ResourceError::bad_completion_queue);
  CHECK(nic.destroy_completion_queue(*e.completions) == ResourceError::busy);
  CHECK(nic.free_domain(transport::ProtectionDomain{999}) == ResourceError::bad_domain);
  AddressAttributes to;
  to.destination = gid("fe80::2");
  const auto handle = nic.create_address_handle(e.domain, to).value();

  CHECK(nic.free_domain(e.domain) == ResourceError::busy);
  REQUIRE(nic.memory().remove(e.keys.local));
  CHECK(nic.free_domain(e.domain) == ResourceError::busy);
  REQUIRE_FALSE(nic.destroy_queue_pair(e.qpn()));
  CHECK(nic.free_domain(e.domain) == ResourceError::busy);
  REQUIRE_FALSE(nic.destroy_address_handle(handle));
  CHECK_FALSE(nic.free_domain(e.domain));
  CHECK(nic.free_domain(e.domain) == ResourceError::bad_domain);
  CHECK_FALSE(nic.destroy_completion_queue(*e.completions));
  CHECK(nic.allocate_domain() != e.domain);
}

TEST_CASE("a connected queue pair gets its path with RTR, or the reason why not") {
  NicWorld world(1500);
  Nic& nic = world.add(1);
  Endpoint e = make_endpoint(nic, Service::reliable_connection, 64);
  const auto to_rtr = [&](const AddressAttributes* address, std::uint32_t path_mtu = 1024) {
    return nic.modify(e.qpn(), QueuePairState::ready_to_receive, attributes_to(5, path_mtu),
                      address);
  };
  AddressAttributes good;
  good.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  good.destination = gid("10.0.0.2");
  CHECK(nic.modify(0x999, QueuePairState::init, {}) == ResourceError::no_such_queue_pair);
  CHECK(to_rtr(&good) == ResourceError::illegal_transition);
  REQUIRE_FALSE(nic.modify(e.qpn(), QueuePairState::init, attributes_to(5)));
  CHECK(to_rtr(nullptr) == ResourceError::bad_attribute);
  CHECK(to_rtr(&good, 2048) == ResourceError::mtu_too_large);
  CHECK(to_rtr(&good, 1000) == ResourceError::bad_attribute);
  AddressAttributes address = good;
  address.gid_index = 99;
  CHECK(to_rtr(&address) == ResourceError::no_such_gid);
  for (const char* destination : {"::", "fd00::2", "224.0.0.1", "0.0.0.0", "255.255.255.255"}) {
    INFO(destination);
    address = good;
    address.destination = gid(destination);
    CHECK(to_rtr(&address) == ResourceError::bad_destination);
  }
  CHECK(e.queue_pair->state() == QueuePairState::init);
  CHECK_FALSE(to_rtr(&good));
  CHECK(e.queue_pair->state() == QueuePairState::ready_to_receive);
  // The path's neighbour is asked for at once.
  RawPort port = world.port();
  CHECK(nic.next_deadline() == wire::Instant::min());
  world.settle();
  CHECK(port.take(world.now()).size() == 1);
}

TEST_CASE("address handles: their own errors, distinct numbers, multicast") {
  NicWorld world;
  Nic& nic = world.add(1);
  const auto domain = nic.allocate_domain();
  AddressAttributes to;
  to.gid_index = gid_index(nic, gid("fd00::1"), RoceVersion::v2);
  to.destination = gid("fd00::2");
  CHECK(nic.create_address_handle({}, to).error() == ResourceError::bad_domain);
  AddressAttributes bad = to;
  bad.destination = gid("10.0.0.2");
  CHECK(nic.create_address_handle(domain, bad).error() == ResourceError::bad_destination);
  bad = to;
  bad.gid_index = 6;
  CHECK(nic.create_address_handle(domain, bad).error() == ResourceError::no_such_gid);
  std::set<std::uint32_t> handles;
  for (int i = 0; i < 1000; ++i) handles.insert(nic.create_address_handle(domain, to).value());
  CHECK(handles.size() == 1000);
  CHECK(handles.count(0) == 0);

  // A group needs no resolution.
  Endpoint e = make_endpoint(nic, Service::unreliable_datagram, 64);
  bring_up(e, attributes_to(0), nullptr);
  to.destination = gid("ff0e::1:2");
  RawPort port = world.port();
  world.settle();
  port.take(world.now());
  e.send(
      {.address_handle = nic.create_address_handle(e.domain, to).value(), .remote_qpn = 0xffffff},
      0, 8);
  world.settle();
  const auto frames = port.take(world.now());
  REQUIRE(frames.size() == 1);
  CHECK(wire::EthernetHeader::parse(frames[0])->destination ==
        wire::MacAddress{{0x33, 0x33, 0, 1, 0, 2}});
}

TEST_CASE("destroying a queue pair in any place of the crank leaves nothing behind") {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();
  nic.add_neighbor(gid("10.0.0.9"), mac(9));
  AddressAttributes to;
  to.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  // Touched; waiting for its timeout; held for a neighbour.
  for (int place = 0; place < 3; ++place) {
    Endpoint e = make_endpoint(nic, Service::reliable_connection, 64);
    to.destination = gid(place == 2 ? "10.0.0.77" : "10.0.0.9");
    bring_up(e, attributes_to(5), &to);
    e.send({.id = 1}, 0, 8);
    if (place > 0) world.settle();
    CHECK_FALSE(nic.destroy_queue_pair(e.qpn()));
  }
  world.run_for(std::chrono::seconds(5));
  CHECK(nic.next_deadline() == wire::kNever);
}

TEST_CASE("a queue pair is found by the one it is connected to, on its own host only") {
  NicWorld world;
  Nic& a = world.add(1);
  Nic& b = world.add(2);
  Endpoint first = make_endpoint(a, wire::Service::reliable_connection, 64);
  Endpoint second = make_endpoint(a, wire::Service::unreliable_connection, 64);
  Endpoint third = make_endpoint(a, wire::Service::unreliable_datagram, 64);
  Endpoint peer = make_endpoint(b, wire::Service::reliable_connection, 64);
  Endpoint other = make_endpoint(b, wire::Service::unreliable_connection, 64);
  CHECK(a.find_queue_pair_connected_to(gid("10.0.0.2"), peer.qpn()) == nullptr);
  connect(first, gid("10.0.0.1"), peer, gid("10.0.0.2"), wire::RoceVersion::v2);
  connect(second, gid("fd00::1"), other, gid("fd00::2"), wire::RoceVersion::v2);
  bring_up(third, attributes_to(other.qpn()), nullptr);
  CHECK(a.find_queue_pair_connected_to(gid("10.0.0.2"), peer.qpn()) == first.queue_pair);
  CHECK(a.find_queue_pair_connected_to(gid("fd00::2"), other.qpn()) == second.queue_pair);
  CHECK(a.find_queue_pair_connected_to(gid("10.0.0.2"), other.qpn()) == nullptr);
  CHECK(a.find_queue_pair_connected_to(gid("10.0.0.3"), peer.qpn()) == nullptr);
}

TEST_CASE("many queue pairs at once") {
  NicWorld world;
  Nic& nic = world.add(1);
  constexpr std::size_t kPairs = 20000;
  nic.add_neighbor(gid("10.0.0.9"), mac(9));
  AddressAttributes to;
  to.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  to.destination = gid("10.0.0.9");
  QueuePairInit init;
  init.domain = nic.allocate_domain();
  auto& completions = nic.create_completion_queue(2 * kPairs);
  init.send_completions = init.receive_completions = &completions;
  init.capacity = {1, 1, 1, 1};
  auto attributes = attributes_to(5);
  attributes.retry_count = 1;
  for (std::size_t i = 0; i < kPairs; ++i) {
    Endpoint e;
    e.nic = &nic;
    e.queue_pair = nic.create_queue_pair(init).value();
    bring_up(e, attributes, &to);
    REQUIRE_FALSE(nic.post_send(e.qpn(), {}));
  }
  // Nobody answers: each sends, waits, sends again and fails.
  world.run_for(std::chrono::seconds(10));
  CHECK(nic.counters().sent_pkts == 2 * kPairs);
  CHECK(completions.size() == kPairs);
  CHECK(nic.next_deadline() == wire::kNever);
}

TEST_CASE("a completion queue that overruns fails its queue pair") {
  NicWorld world;
  Nic& first = world.add(1);
  Nic& second = world.add(2);
  Endpoint a = make_endpoint(first, Service::reliable_connection, 64);
  Endpoint b = make_endpoint(second, Service::reliable_connection, 64);
  CompletionQueue& small = second.create_completion_queue(1);
  QueuePairInit init;
  init.domain = b.domain;
  init.send_completions = init.receive_completions = &small;
  b.queue_pair = second.create_queue_pair(init).value();
  connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), RoceVersion::v2);
  b.receive(1, 0, 8);
  b.receive(2, 8, 8);
  a.send({.id = 1}, 0, 8);
  a.send({.id = 2}, 0, 8);
  world.run_for(std::chrono::seconds(20));
  CHECK(small.overrun());
  CHECK(b.queue_pair->state() == QueuePairState::error);
}

TEST_CASE("every resource error has its words") {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(ResourceError::busy); ++i) {
    words.insert(to_string(static_cast<ResourceError>(i)));
  }
  CHECK(words.size() == static_cast<std::size_t>(ResourceError::busy) + 1);
}

}  // namespace
}  // namespace softrnic::nic::test
