// SPDX-License-Identifier: BSD-3-Clause
// What a NIC says it can do at most, and that it keeps to it.
#include "nic/device_limits.hpp"

#include "nic_world.hpp"

using namespace softrnic;
using namespace softrnic::nic;
using namespace softrnic::nic::test;
using transport::PostError;
using transport::QueuePairState;

namespace {

NicConfig config_with(const DeviceLimits& limits) {
  NicConfig config = NicWorld::config(1);
  config.limits = limits;
  return config;
}

AddressAttributes to_peer() {
  AddressAttributes to;
  to.gid_index = 2;
  to.destination = gid("10.0.0.2");
  return to;
}

}  // namespace

TEST_CASE("a NIC reports the limits it was given, and never more than it can do") {
  NicWorld world;
  CHECK(world.add(1).limits() == DeviceLimits{});
  CHECK(DeviceLimits{}.kept_possible() == DeviceLimits{});

  DeviceLimits all;
  for (const DeviceLimitName& limit : device_limit_names()) all.*limit.value = ~std::uint64_t{0};
  const DeviceLimits& most = world.add(config_with(all)).limits();
  for (const DeviceLimitName& limit : device_limit_names()) {
    CAPTURE(std::string(limit.name));
    CHECK(most.*limit.value == limit.most);
    CHECK(find_device_limit(limit.name) == &limit);
    DeviceLimits small;
    small.*limit.value = 1;
    const std::uint64_t kept = limit.name == "max_mtu" ? 256 : 1;
    CHECK(world.add(config_with(small)).limits().*limit.value == kept);
  }
  CHECK(device_limit_names().size() * sizeof(std::uint64_t) == sizeof(DeviceLimits));
  CHECK(find_device_limit("max_nothing") == nullptr);
}

TEST_CASE("queues, elements and inline data are made up to the limit, and not beyond") {
  DeviceLimits limits;
  limits.requests = 10;
  limits.sges = 3;
  limits.inline_bytes = 16;
  NicWorld world;
  Nic& nic = world.add(config_with(limits));
  QueuePairInit good;
  good.domain = nic.allocate_domain();
  good.send_completions = good.receive_completions = &nic.create_completion_queue(8);
  good.capacity = {10, 10, 3, 3, 16};
  const auto error_of = [&](auto member) {
    QueuePairInit init = good;
    ++(init.capacity.*member);
    const auto made = nic.create_queue_pair(init);
    return made ? std::optional<ResourceError>() : made.error();
  };
  CHECK(nic.create_queue_pair(good).has_value());
  using Capacity = transport::QueuePairCapacity;
  for (const auto member :
       {&Capacity::send_requests, &Capacity::receive_requests, &Capacity::send_sges,
        &Capacity::receive_sges, &Capacity::inline_bytes}) {
    CHECK(error_of(member) == ResourceError::bad_capacity);
  }
}

TEST_CASE("resources are made up to the limit, and again when one is given up") {
  DeviceLimits limits;
  limits.domains = 2;
  limits.completion_queues = 2;
  limits.completions = 100;
  limits.shared_receive_queues = 1;
  limits.shared_requests = 5;
  limits.shared_sges = 2;
  limits.regions = limits.windows = 1;
  limits.region_bytes = 8;
  limits.address_handles = 1;
  NicWorld world;
  Nic& nic = world.add(config_with(limits));

  const auto domain = nic.allocate_domain();
  const auto other = nic.allocate_domain();
  CHECK(nic.allocate_domain() == transport::ProtectionDomain{});
  CHECK_FALSE(nic.free_domain(other));
  CHECK(nic.allocate_domain() != transport::ProtectionDomain{});

  CHECK(nic.create_completion_queue(CompletionQueueInit{101}).error() ==
        ResourceError::bad_capacity);
  CompletionQueue* queue = nic.create_completion_queue(CompletionQueueInit{100}).value();
  CHECK(nic.resize_completion_queue(*queue, 101) == ResourceError::bad_capacity);
  CHECK_FALSE(nic.resize_completion_queue(*queue, 100));
  CHECK(nic.create_completion_queue(CompletionQueueInit{1}).has_value());
  CHECK(nic.create_completion_queue(CompletionQueueInit{1}).error() == ResourceError::table_full);
  CHECK_FALSE(nic.destroy_completion_queue(*queue));
  CHECK(nic.create_completion_queue(CompletionQueueInit{1}).has_value());

  CHECK(nic.create_shared_receive_queue({domain, {6, 2}}).error() == ResourceError::bad_capacity);
  CHECK(nic.create_shared_receive_queue({domain, {5, 3}}).error() == ResourceError::bad_capacity);
  auto* shared = nic.create_shared_receive_queue({domain, {5, 2}}).value();
  CHECK(nic.resize_shared_receive_queue(*shared, 6) == ResourceError::bad_capacity);
  CHECK(nic.create_shared_receive_queue({domain, {5, 2}}).error() == ResourceError::table_full);
  CHECK_FALSE(nic.destroy_shared_receive_queue(*shared));
  CHECK(nic.create_shared_receive_queue({domain, {5, 2}}).has_value());

  Bytes bytes(16);
  RegionAttributes region;
  region.domain = domain;
  region.base = bytes.data();
  region.length = 9;
  CHECK(nic.memory().add(region).error() == RegisterError::bad_range);
  region.length = 8;
  CHECK(nic.memory().add(region).has_value());
  CHECK(nic.memory().add(region).error() == RegisterError::table_full);
  CHECK(nic.memory().allocate_window(domain, WindowType::type_1).has_value());
  CHECK(nic.memory().allocate_window(domain, WindowType::type_1).error() ==
        RegisterError::table_full);

  const auto handle = nic.create_address_handle(domain, to_peer());
  REQUIRE(handle.has_value());
  CHECK(nic.create_address_handle(domain, to_peer()).error() == ResourceError::table_full);
  CHECK_FALSE(nic.destroy_address_handle(*handle));
  CHECK(nic.create_address_handle(domain, to_peer()).has_value());
}

TEST_CASE("a queue pair gets no more READs and atomics, and no larger MTU, than the NIC has") {
  DeviceLimits limits;
  limits.initiator_depth = 4;
  limits.responder_depth = 2;
  limits.path_mtu = 700;  // not one of the five: the next below
  NicWorld world;
  Nic& nic = world.add(config_with(limits));
  CHECK(nic.limits().path_mtu == 512);
  CHECK(nic.active_mtu() == 512);
  Endpoint e = make_endpoint(nic, wire::Service::reliable_connection, 64);
  const AddressAttributes to = to_peer();
  auto a = attributes_to(5, 1024);
  a.max_rd_atomic = 5;
  a.max_dest_rd_atomic = 3;
  REQUIRE_FALSE(nic.modify(e.qpn(), QueuePairState::init, a, &to));
  const auto state = QueuePairState::ready_to_receive;
  CHECK(nic.modify(e.qpn(), state, a, &to) == ResourceError::mtu_too_large);
  a.path_mtu = 512;
  CHECK(nic.modify(e.qpn(), state, a, &to) == ResourceError::bad_attribute);
  a.max_dest_rd_atomic = 2;
  REQUIRE_FALSE(nic.modify(e.qpn(), state, a, &to));
  CHECK(nic.modify(e.qpn(), QueuePairState::ready_to_send, a) == ResourceError::bad_attribute);
  a.max_rd_atomic = 4;
  CHECK_FALSE(nic.modify(e.qpn(), QueuePairState::ready_to_send, a));
}

TEST_CASE("no message is longer than the NIC takes, sent or received") {
  DeviceLimits limits;
  limits.message_bytes = 2000;
  using transport::CompletionStatus;
  for (const auto operation :
       {transport::SendOperation::rdma_write, transport::SendOperation::rdma_read}) {
    NicWorld world;
    Nic& large = world.add(2);
    Nic& small = world.add(config_with(limits));
    Endpoint a = make_endpoint(large, wire::Service::reliable_connection, 4096);
    Endpoint b = make_endpoint(small, wire::Service::reliable_connection, 4096);
    connect(a, gid("10.0.0.2"), b, gid("10.0.0.1"), wire::RoceVersion::v2);
    transport::SendRequest request;
    request.operation = operation;
    request.remote_address = a.address();
    request.remote_key = a.keys.remote;
    const auto element = b.sge(0, 2001);
    request.sges = {&element, 1};
    CHECK(small.post_send(b.qpn(), request) == PostError::message_too_long);
    b.send(request, 0, 2000);
    request.remote_address = b.address();
    request.remote_key = b.keys.remote;
    a.send(request, 0, 2000);
    a.send(request, 0, 2001);
    world.run_for(std::chrono::seconds(1));
    const auto sent = b.poll();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].status == CompletionStatus::success);
    const auto done = a.poll();
    REQUIRE(done.size() == 2);
    CHECK(done[0].status == CompletionStatus::success);
    CHECK(done[1].status == CompletionStatus::remote_invalid_request);
  }
}
