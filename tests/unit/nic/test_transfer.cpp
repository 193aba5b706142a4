// SPDX-License-Identifier: BSD-3-Clause
// Whole NICs on a wire: every service, network layer and path MTU, byte for byte.
#include <catch2/catch.hpp>

#include "nic_world.hpp"
#include "segmented_link.hpp"
#include "wire/udp.hpp"

namespace softrnic::nic::test {
namespace {

using transport::CompletionOperation;
using transport::CompletionStatus;
using transport::SendOperation;
using wire::RoceVersion;
using wire::Service;

constexpr std::size_t kHalf = 100'000;

struct Route {
  const char* name;
  RoceVersion version;
  wire::Gid a;
  wire::Gid b;
};

std::vector<Route> routes() {
  const wire::Gid a_local = wire::Gid::link_local(mac(1));
  const wire::Gid b_local = wire::Gid::link_local(mac(2));
  return {{"v2 IPv4", RoceVersion::v2, gid("10.0.0.1"), gid("10.0.0.2")},
          {"v2 IPv6", RoceVersion::v2, gid("fd00::1"), gid("fd00::2")},
          {"v2 link-local", RoceVersion::v2, a_local, b_local},
          {"v1 mapped IPv4", RoceVersion::v1, gid("10.0.0.1"), gid("10.0.0.2")},
          {"v1 IPv6", RoceVersion::v1, gid("fd00::1"), gid("fd00::2")},
          {"v1 link-local", RoceVersion::v1, a_local, b_local}};
}

bool same(const Endpoint& a, std::size_t a_offset, const Endpoint& b, std::size_t b_offset,
          std::size_t n) {
  return std::equal(a.buffer.begin() + static_cast<std::ptrdiff_t>(a_offset),
                    a.buffer.begin() + static_cast<std::ptrdiff_t>(a_offset + n),
                    b.buffer.begin() + static_cast<std::ptrdiff_t>(b_offset));
}

void expect_success(Endpoint& e, std::vector<std::uint64_t> ids) {
  std::vector<std::uint64_t> got;
  for (const auto& completion : e.poll()) {
    INFO("completion " << completion.id << ": " << to_string(completion.status));
    CHECK(completion.status == CompletionStatus::success);
    got.push_back(completion.id);
  }
  CHECK(got == ids);
}

void expect_no_drops(const Nic& nic) {
  const auto& c = nic.counters();
  CHECK(c.icrc_errors == 0);
  CHECK(c.malformed_pkts == 0);
  CHECK(c.unknown_qpn == 0);
  CHECK(c.source_mismatch == 0);
  CHECK(c.wrong_service == 0);
  CHECK(c.bad_qp_state == 0);
  CHECK(c.not_for_us == 0);
  CHECK(c.tx_unresolved == 0);
  CHECK(c.retransmitted_pkts == 0);
}

void fill(Endpoint& e, std::uint32_t seed) {
  const Bytes fresh = random_bytes(e.buffer.size(), seed);
  std::copy(fresh.begin(), fresh.end(), e.buffer.begin());
}

// SEND, WRITE and READ of `bytes` bytes, asked for by `a`.
void exchange(NicWorld& world, Endpoint& a, Endpoint& b, std::size_t bytes) {
  fill(a, static_cast<std::uint32_t>(bytes) + 1);
  fill(b, static_cast<std::uint32_t>(bytes) + 2);

  b.receive(100, kHalf, kHalf);
  a.send({.id = 1}, 0, bytes);
  world.run_for(std::chrono::seconds(1));
  expect_success(a, {1});
  const auto received = b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].id == 100);
  CHECK(received[0].status == CompletionStatus::success);
  CHECK(received[0].byte_length == bytes);
  CHECK(same(a, 0, b, kHalf, bytes));

  a.send({.id = 2,
          .operation = SendOperation::rdma_write,
          .remote_address = b.address(3),
          .remote_key = b.keys.remote},
         1, bytes);
  world.run_for(std::chrono::seconds(1));
  expect_success(a, {2});
  CHECK(same(a, 1, b, 3, bytes));

  a.send({.id = 3,
          .operation = SendOperation::rdma_read,
          .remote_address = b.address(kHalf),
          .remote_key = b.keys.remote},
         kHalf, bytes);
  world.run_for(std::chrono::seconds(1));
  expect_success(a, {3});
  CHECK(same(a, kHalf, b, kHalf, bytes));
}

TEST_CASE("RC moves every byte over every network layer and path MTU") {
  for (const Route& route : routes()) {
    for (const std::uint32_t path_mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
      NicWorld world;
      Nic& first = world.add(1);
      Nic& second = world.add(2);
      Endpoint a = make_endpoint(first, Service::reliable_connection, 2 * kHalf + 8);
      Endpoint b = make_endpoint(second, Service::reliable_connection, 2 * kHalf + 8);
      connect(a, route.a, b, route.b, route.version, path_mtu);
      for (const std::size_t bytes :
           {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4},
            std::size_t{path_mtu} - 1, std::size_t{path_mtu}, std::size_t{path_mtu} + 1,
            std::size_t{65536}, kHalf - 16}) {
        INFO(route.name << ", path MTU " << path_mtu << ", " << bytes << " bytes");
        exchange(world, a, b, bytes);
        exchange(world, b, a, bytes);
      }
      expect_no_drops(first);
      expect_no_drops(second);
      CHECK(first.next_deadline() == wire::kNever);
      CHECK(second.next_deadline() == wire::kNever);
    }
  }
}

TEST_CASE("RC moves every byte in frames of several segments") {
  // A 4096-byte payload then lies in three pieces, cut at odd places.
  for (const std::array<std::uint32_t, 3> sizes :
       {std::array<std::uint32_t, 3>{2048, 2048, 2048},
        std::array<std::uint32_t, 3>{wire::kHeadroom + 1, 4096, 512},
        std::array<std::uint32_t, 3>{wire::kHeadroom + 5, 4, 4200}}) {
    INFO("segments " << sizes[0] << ' ' << sizes[1] << ' ' << sizes[2]);
    NicWorld world;
    Nic& first =
        world.add(NicWorld::config(1), std::make_unique<SegmentedLink>(world.attach(), sizes));
    // Received headers must lie in one piece, so this side cuts later.
    Nic& second = world.add(NicWorld::config(2),
                            std::make_unique<SegmentedLink>(
                                world.attach(), std::array<std::uint32_t, 3>{300, 3000, 1500}));
    Endpoint a = make_endpoint(second, Service::reliable_connection, 2 * kHalf + 8);
    Endpoint b = make_endpoint(first, Service::reliable_connection, 2 * kHalf + 8);
    connect(a, gid("10.0.0.2"), b, gid("10.0.0.1"), RoceVersion::v2, 4096);
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4093}, std::size_t{4096}, kHalf - 16}) {
      INFO(bytes << " bytes");
      exchange(world, a, b, bytes);
      exchange(world, b, a, bytes);
    }
    expect_no_drops(first);
    expect_no_drops(second);
  }
}

TEST_CASE("RC atomics and immediates arrive in the host's order") {
  NicWorld world;
  Endpoint a = make_endpoint(world.add(1), Service::reliable_connection, 64);
  Endpoint b = make_endpoint(world.add(2), Service::reliable_connection, 64);
  connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), RoceVersion::v2);
  const auto word = [](Endpoint& e, std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, e.buffer.data() + offset, sizeof(value));
    return value;
  };
  const std::uint64_t start = 0x0102030405060708;
  std::memcpy(b.buffer.data() + 16, &start, sizeof(start));

  a.send({.id = 1,
          .operation = SendOperation::fetch_add,
          .remote_address = b.address(16),
          .remote_key = b.keys.remote,
          .swap_add = 0x10},
         0, 8);
  a.send({.id = 2,
          .operation = SendOperation::compare_swap,
          .remote_address = b.address(16),
          .remote_key = b.keys.remote,
          .swap_add = 77,
          .compare = start + 0x10},
         8, 8);
  world.run_for(std::chrono::seconds(1));
  expect_success(a, {1, 2});
  CHECK(word(a, 0) == start);
  CHECK(word(a, 8) == start + 0x10);
  CHECK(word(b, 16) == 77);

  b.receive(9, 32, 8);
  a.send({.id = 3,
          .operation = SendOperation::rdma_write_with_immediate,
          .remote_address = b.address(),
          .remote_key = b.keys.remote,
          .immediate = 0xdeadbeef},
         0, 8);
  world.run_for(std::chrono::seconds(1));
  expect_success(a, {3});
  const auto received = b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].operation == CompletionOperation::receive_rdma_with_immediate);
  CHECK(received[0].immediate == 0xdeadbeef);
  CHECK(word(b, 0) == start);
}

TEST_CASE("a wrong key ends in the error that the standard gives, and no byte moves") {
  NicWorld world;
  Endpoint a = make_endpoint(world.add(1), Service::reliable_connection, 4096);
  Endpoint b = make_endpoint(world.add(2), Service::reliable_connection, 4096);
  connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), RoceVersion::v2);
  fill(a, 1);
  a.send({.id = 1,
          .operation = SendOperation::rdma_write,
          .remote_address = b.address(),
          .remote_key = b.keys.remote ^ 1},
         0, 4096);
  a.send({.id = 2}, 0, 8);
  world.run_for(std::chrono::seconds(1));
  const auto completions = a.poll();
  REQUIRE(completions.size() == 2);
  CHECK(completions[0].status == CompletionStatus::remote_access_error);
  CHECK(completions[1].status == CompletionStatus::work_request_flushed);
  CHECK(b.buffer == Bytes(4096));
}

TEST_CASE("UC moves every byte over every network layer and path MTU") {
  for (const Route& route : routes()) {
    for (const std::uint32_t path_mtu : {256u, 1024u, 4096u}) {
      INFO(route.name << ", path MTU " << path_mtu);
      NicWorld world;
      Endpoint a = make_endpoint(world.add(1), Service::unreliable_connection, 2 * kHalf);
      Endpoint b = make_endpoint(world.add(2), Service::unreliable_connection, 2 * kHalf);
      connect(a, route.a, b, route.b, route.version, path_mtu);
      fill(a, path_mtu);
      b.receive(100, 0, kHalf);
      a.send({.id = 1}, 0, kHalf);
      a.send({.id = 2,
              .operation = SendOperation::rdma_write,
              .remote_address = b.address(kHalf),
              .remote_key = b.keys.remote},
             kHalf, kHalf);
      world.run_for(std::chrono::seconds(1));
      expect_success(a, {1, 2});
      expect_success(b, {100});
      CHECK(a.buffer == b.buffer);
      expect_no_drops(*b.nic);
    }
  }
}

TEST_CASE("UD carries datagrams between any queue pairs, with the sender's address in front") {
  for (const Route& route : routes()) {
    INFO(route.name);
    NicWorld world;
    Endpoint a = make_endpoint(world.add(1), Service::unreliable_datagram, 8192);
    Endpoint b = make_endpoint(world.add(2), Service::unreliable_datagram, 8192);
    bring_up(a, attributes_to(0), nullptr);
    bring_up(b, attributes_to(0), nullptr);
    CHECK(a.queue_pair->attributes().path_mtu == 4096);
    AddressAttributes to_b;
    to_b.gid_index = gid_index(*a.nic, route.a, route.version);
    to_b.destination = route.b;
    const std::uint32_t handle = a.nic->create_address_handle(a.domain, to_b).value();
    REQUIRE(handle != 0);
    fill(a, 5);
    const transport::SendRequest request{
        .id = 1, .address_handle = handle, .remote_qpn = b.qpn(), .remote_queue_key = 0x11111111};
    // The first waits for the neighbour and is not lost.
    std::uint64_t id = 0;
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{0}, std::size_t{1}}) {
      b.receive(++id, 0, 4136);
      a.send(request, 0, bytes);
      world.run_for(std::chrono::seconds(1));
      expect_success(a, {1});
      const auto received = b.poll();
      REQUIRE(received.size() == 1);
      CHECK(received[0].status == CompletionStatus::success);
      CHECK(received[0].byte_length == bytes + 40);
      CHECK(received[0].source_qpn == a.qpn());
      CHECK(same(a, 0, b, 40, bytes));
    }
    const transport::Sge too_long = a.sge(0, 4097);
    transport::SendRequest long_request = request;
    long_request.sges = {&too_long, 1};
    CHECK(a.nic->post_send(a.qpn(), long_request) == transport::PostError::message_too_long);
    expect_no_drops(*a.nic);
    expect_no_drops(*b.nic);
  }
}

TEST_CASE("a UD queue pair needs a handle of its own domain") {
  NicWorld world;
  Nic& nic = world.add(1);
  Endpoint a = make_endpoint(nic, Service::unreliable_datagram, 64);
  bring_up(a, attributes_to(0), nullptr);
  AddressAttributes attributes;
  attributes.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  attributes.destination = gid("10.0.0.2");
  const auto foreign = nic.create_address_handle(nic.allocate_domain(), attributes).value();
  const auto own = nic.create_address_handle(a.domain, attributes).value();
  const transport::Sge element = a.sge(0, 8);
  transport::SendRequest request;
  request.sges = {&element, 1};
  for (const std::uint32_t handle : {0u, foreign, own + 100}) {
    request.address_handle = handle;
    CHECK(nic.post_send(a.qpn(), request) == transport::PostError::bad_address_handle);
  }
  // A handle that went away before its datagram left: dropped, counted, completed.
  request.address_handle = own;
  CHECK_FALSE(nic.post_send(a.qpn(), request));
  CHECK_FALSE(nic.destroy_address_handle(own));
  CHECK(nic.destroy_address_handle(own) == ResourceError::no_such_queue_pair);
  world.run_for(std::chrono::seconds(2));
  CHECK(nic.counters().tx_unresolved == 1);
  expect_success(a, {0});
}

TEST_CASE("two queue pairs of one NIC talk to each other inside it") {
  for (const Route& route : routes()) {
    INFO(route.name);
    NicWorld world;
    Nic& nic = world.add(1);
    RawPort listener = world.port();
    Endpoint a = make_endpoint(nic, Service::reliable_connection, 2 * kHalf + 8);
    Endpoint b = make_endpoint(nic, Service::reliable_connection, 2 * kHalf + 8);
    connect(a, route.a, b, route.a, route.version);
    exchange(world, a, b, kHalf - 16);
    exchange(world, b, a, 1000);
    expect_no_drops(nic);
    CHECK(listener.take(world.now()).empty());
  }
}

TEST_CASE("a queue pair connected to itself") {
  NicWorld world;
  Nic& nic = world.add(1);
  Endpoint a = make_endpoint(nic, Service::reliable_connection, 64);
  AddressAttributes self;
  self.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  self.destination = gid("10.0.0.1");
  bring_up(a, attributes_to(a.qpn()), &self);
  fill(a, 3);
  a.send({.id = 1,
          .operation = SendOperation::rdma_write,
          .remote_address = a.address(32),
          .remote_key = a.keys.remote},
         0, 32);
  world.run_for(std::chrono::seconds(1));
  expect_success(a, {1});
  CHECK(same(a, 0, a, 32, 32));
}

TEST_CASE("datagrams to the NIC's own address come back inside") {
  NicWorld world;
  Nic& nic = world.add(1);
  Endpoint a = make_endpoint(nic, Service::unreliable_datagram, 8192);
  bring_up(a, attributes_to(0), nullptr);
  AddressAttributes self;
  self.gid_index = gid_index(nic, gid("fd00::1"), RoceVersion::v2);
  self.destination = gid("fd00::1");
  const auto handle = nic.create_address_handle(a.domain, self).value();
  // More than the queue inside holds at once.
  constexpr std::size_t kDatagrams = 250;
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    a.receive(1000 + i, 1000, 1000);
    a.send(
        {.id = i, .address_handle = handle, .remote_qpn = a.qpn(), .remote_queue_key = 0x11111111},
        0, 100);
  }
  world.run_for(std::chrono::seconds(1));
  CHECK(a.completions->size() == 2 * kDatagrams);
  CHECK(nic.counters().out_of_buffer == 0);
}

TEST_CASE("NICs on a VLAN exchange tagged frames with the path's priority") {
  NicWorld world;
  NicConfig one = NicWorld::config(1);
  NicConfig two = NicWorld::config(2);
  one.vlan = two.vlan = wire::VlanTag{1, false, 42};
  Nic& first = world.add(one);
  Nic& second = world.add(two);
  Endpoint a = make_endpoint(first, Service::reliable_connection, 2 * kHalf + 8);
  Endpoint b = make_endpoint(second, Service::reliable_connection, 2 * kHalf + 8);
  connect(a, gid("fd00::1"), b, gid("fd00::2"), RoceVersion::v2, 4096);
  exchange(world, a, b, kHalf - 16);
  expect_no_drops(first);
  expect_no_drops(second);
  // A NIC without the VLAN hears the same frames and takes none.
  Nic& third = world.add(3);
  third.ping(world.now(), gid("10.0.0.1"), 1, 1, {});
  world.run_for(std::chrono::seconds(2));
  CHECK(third.counters().tx_unresolved == 1);
}

TEST_CASE("both ends of a connection use one UDP source port, and a flow label sets it") {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();
  nic.add_neighbor(gid("10.0.0.9"), mac(9));
  const auto sent_port = [&](std::uint32_t flow_label, std::uint32_t own, std::uint32_t peer) {
    Endpoint e;
    e.nic = &nic;
    e.domain = nic.allocate_domain();
    e.completions = &nic.create_completion_queue(16);
    QueuePairInit init;
    init.domain = e.domain;
    init.send_completions = init.receive_completions = e.completions;
    init.qpn = own;
    e.queue_pair = nic.create_queue_pair(init).value();
    AddressAttributes to;
    to.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
    to.destination = gid("10.0.0.9");
    to.flow_label = flow_label;
    bring_up(e, attributes_to(peer), &to);
    REQUIRE_FALSE(nic.post_send(own, {}));
    world.settle();
    const auto frames = port.take(world.now());
    REQUIRE(frames.size() == 1);
    const auto view = wire::PacketView::parse(wire::ByteView(frames[0]));
    REQUIRE(view.has_value());
    REQUIRE_FALSE(nic.destroy_queue_pair(own));
    return view->udp().source_port;
  };
  const std::uint16_t port_one_way = sent_port(0, 0x123, 0x4567);
  CHECK(port_one_way == sent_port(0, 0x4567, 0x123));
  CHECK(port_one_way == wire::source_port_of_flow_label(wire::flow_label_of_qpns(0x123, 0x4567)));
  CHECK(sent_port(0x12345, 0x123, 0x4567) == 0xe341);
}

TEST_CASE("IPv4 identification counts up") {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();
  nic.add_neighbor(gid("10.0.0.2"), mac(9));
  Endpoint a = make_endpoint(nic, Service::unreliable_connection, 4096);
  AddressAttributes to;
  to.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  to.destination = gid("10.0.0.2");
  bring_up(a, attributes_to(5), &to);
  a.send({}, 0, 4096);
  world.settle();
  std::vector<std::uint16_t> seen;
  for (const Bytes& frame : port.take(world.now())) {
    seen.push_back(wire::PacketView::parse(wire::ByteView(frame)).value().ipv4().identification);
  }
  REQUIRE(seen.size() == 4);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    CHECK(static_cast<std::uint16_t>(seen[i] - seen[i - 1]) == 1);
  }
}

TEST_CASE("many queue pairs share the wire in turn") {
  NicWorld world;
  Nic& first = world.add(1);
  Nic& second = world.add(2);
  constexpr std::size_t kPairs = 40;
  std::vector<Endpoint> as;
  std::vector<Endpoint> bs;
  for (std::size_t i = 0; i < kPairs; ++i) {
    as.push_back(make_endpoint(first, Service::reliable_connection, 20000));
    bs.push_back(make_endpoint(second, Service::reliable_connection, 20000));
    connect(as.back(), gid("10.0.0.1"), bs.back(), gid("10.0.0.2"), RoceVersion::v2, 256);
    fill(as.back(), static_cast<std::uint32_t>(i));
    as.back().send({.id = i,
                    .operation = SendOperation::rdma_write,
                    .remote_address = bs.back().address(),
                    .remote_key = bs.back().keys.remote},
                   0, 20000);
  }
  world.run_for(std::chrono::seconds(10));
  for (std::size_t i = 0; i < kPairs; ++i) {
    INFO(i);
    expect_success(as[i], {i});
    CHECK(as[i].buffer == bs[i].buffer);
  }
  CHECK(first.next_deadline() == wire::kNever);
}

TEST_CASE("an unreachable peer: packets are dropped and the retries run out") {
  NicWorld world;
  Nic& nic = world.add(1);
  RawPort port = world.port();
  Endpoint a = make_endpoint(nic, Service::reliable_connection, 64);
  AddressAttributes to;
  to.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  to.destination = gid("10.0.0.77");
  auto attributes = attributes_to(5);
  attributes.timeout = 14;
  attributes.retry_count = 3;
  bring_up(a, attributes, &to);
  a.send({.id = 1}, 0, 8);
  // Held back while the neighbour may still answer.
  world.run_for(std::chrono::milliseconds(500));
  CHECK(a.completions->size() == 0);
  CHECK(nic.counters().tx_unresolved == 0);
  world.run_for(std::chrono::milliseconds(100) + 4 * 4 * std::chrono::microseconds(4096 << 4) * 4);
  const auto completions = a.poll();
  REQUIRE(completions.size() == 1);
  CHECK(completions[0].status == CompletionStatus::retry_exceeded);
  CHECK(nic.counters().tx_unresolved == 4);
  CHECK(nic.counters().sent_pkts == 0);
  for (const Bytes& frame : port.take(world.now())) {
    CHECK(wire::EthernetHeader::parse(frame)->ethertype == wire::ethertype::kArp);
  }
  CHECK(nic.next_deadline() == wire::kNever);
}

TEST_CASE("a peer that comes up late is reached by the retries") {
  NicWorld world;
  Nic& nic = world.add(1);
  Endpoint a = make_endpoint(nic, Service::reliable_connection, 64);
  AddressAttributes to;
  to.gid_index = gid_index(nic, gid("10.0.0.1"), RoceVersion::v2);
  to.destination = gid("10.0.0.2");
  auto attributes = attributes_to(0x55);
  attributes.timeout = 18;  // about a second
  bring_up(a, attributes, &to);
  fill(a, 9);
  world.run_for(std::chrono::seconds(1));  // resolution has failed by now
  Nic& late = world.add(2);
  Endpoint b;
  b.nic = &late;
  b.domain = late.allocate_domain();
  b.completions = &late.create_completion_queue(16);
  QueuePairInit init;
  init.domain = b.domain;
  init.send_completions = init.receive_completions = b.completions;
  init.qpn = 0x55;
  b.queue_pair = late.create_queue_pair(init).value();
  b.buffer.resize(64);
  RegionAttributes region{b.domain, b.buffer.data(), 64, transport::kLocalWrite, {}, {}};
  b.keys = late.memory().add(region).value();
  AddressAttributes back;
  back.gid_index = gid_index(late, gid("10.0.0.2"), RoceVersion::v2);
  back.destination = gid("10.0.0.1");
  bring_up(b, attributes_to(a.qpn()), &back);
  b.receive(7, 0, 64);
  a.send({.id = 1}, 0, 64);
  world.run_for(std::chrono::seconds(10));
  expect_success(a, {1});
  expect_success(b, {7});
  CHECK(a.buffer == b.buffer);
}

TEST_CASE("what was posted is sent without a look at what has come") {
  NicWorld world;
  Nic& one = world.add(1);
  Nic& other = world.add(2);
  Endpoint a = make_endpoint(one, Service::reliable_connection, kHalf);
  Endpoint b = make_endpoint(other, Service::reliable_connection, kHalf);
  connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), RoceVersion::v2);
  transport::SendRequest write;
  write.operation = SendOperation::rdma_write;
  write.remote_address = b.address();
  write.remote_key = b.keys.remote;
  a.send(write, 0, 8);
  world.settle();  // the neighbours know each other now
  expect_success(a, {0});

  a.buffer[0] = std::byte{0x5a};
  write.id = 1;
  a.send(write, 0, 8);
  CHECK(one.transmit(world.now()));
  CHECK_FALSE(one.transmit(world.now()));
  while (other.turn(world.now())) {
  }
  CHECK(b.buffer[0] == std::byte{0x5a});
  // The acknowledgement is there and waits for a turn.
  one.transmit(world.now());
  CHECK(a.poll().empty());
  world.settle();
  expect_success(a, {1});
}

}  // namespace
}  // namespace softrnic::nic::test
