// SPDX-License-Identifier: BSD-3-Clause
// Changing, querying and destroying queue pairs through the NIC.
#include <catch2/catch.hpp>
#include <cerrno>

#include "nic_world.hpp"

namespace softrnic::nic {
namespace {

using namespace test;
using transport::QueuePairAttributes;
using transport::QueuePairState;
using transport::QueuePairType;
namespace attribute = transport::attribute;

AddressAttributes address_to(const Nic& nic, const char* own, const char* destination) {
  AddressAttributes address;
  address.gid_index = gid_index(nic, gid(own), wire::RoceVersion::v2);
  address.destination = gid(destination);
  return address;
}

QueuePairAttributes distinct_attributes() {
  QueuePairAttributes a;
  a.remote_access = transport::kRemoteRead;
  a.path_mtu = 512;
  a.destination_qpn = 0x777;
  a.receive_psn = wire::Psn(0x123456);
  a.max_dest_rd_atomic = 7;
  a.min_rnr_timer = 9;
  a.send_psn = wire::Psn(0x654321);
  a.max_rd_atomic = 6;
  a.timeout = 11;
  a.retry_count = 3;
  a.rnr_retry = 2;
  return a;
}

TEST_CASE("a query gives back what was set, step by step") {
  NicWorld world;
  Nic& nic = world.add(1);
  Endpoint e = make_endpoint(nic, wire::Service::reliable_connection, 64);
  const auto status = [&] { return nic.query_queue_pair(e.qpn()).value(); };
  CHECK_FALSE(nic.query_queue_pair(e.qpn() + 1));
  CHECK(status().state == QueuePairState::reset);
  CHECK(status().type == QueuePairType::rc);
  CHECK(status().domain == e.domain);
  CHECK(status().capacity.send_requests == 256);
  CHECK(status().capacity.receive_sges == 4);
  CHECK_FALSE(status().address);

  const QueuePairAttributes wanted = distinct_attributes();
  REQUIRE_FALSE(nic.modify(e.qpn(), QueuePairState::init, wanted,
                           attribute::partition_key | attribute::port | attribute::remote_access));
  CHECK(status().state == QueuePairState::init);
  CHECK(status().attributes.remote_access == transport::kRemoteRead);
  CHECK(status().attributes.destination_qpn == 0);

  const AddressAttributes to_peer = address_to(nic, "10.0.0.1", "10.0.0.2");
  const transport::AttributeMask for_rtr = attribute::address | attribute::path_mtu |
                                           attribute::destination_qpn | attribute::receive_psn |
                                           attribute::max_dest_rd_atomic | attribute::min_rnr_timer;
  CHECK(nic.modify(e.qpn(), QueuePairState::ready_to_receive, wanted, for_rtr) ==
        ResourceError::bad_attribute);  // an address is named and none given
  CHECK(nic.modify(e.qpn(), QueuePairState::ready_to_receive, wanted, for_rtr & ~attribute::address,
                   &to_peer) == ResourceError::bad_attribute);
  CHECK(status().state == QueuePairState::init);
  REQUIRE_FALSE(nic.modify(e.qpn(), QueuePairState::ready_to_receive, wanted, for_rtr, &to_peer));
  CHECK(status().state == QueuePairState::ready_to_receive);
  CHECK(status().attributes.path_mtu == 512);
  CHECK(status().attributes.destination_qpn == 0x777);
  CHECK(status().attributes.receive_psn == wire::Psn(0x123456));
  CHECK(status().attributes.max_dest_rd_atomic == 7);
  CHECK(status().attributes.min_rnr_timer == 9);
  CHECK(status().attributes.timeout == QueuePairAttributes().timeout);
  REQUIRE(status().address);
  CHECK(status().address->destination == gid("10.0.0.2"));
  CHECK(status().address->gid_index == to_peer.gid_index);

  REQUIRE_FALSE(nic.modify(e.qpn(), QueuePairState::ready_to_send, wanted,
                           attribute::timeout | attribute::retry_count | attribute::rnr_retry |
                               attribute::send_psn | attribute::max_rd_atomic));
  CHECK(status().state == QueuePairState::ready_to_send);
  CHECK(status().attributes.timeout == 11);
  CHECK(status().attributes.retry_count == 3);
  CHECK(status().attributes.rnr_retry == 2);
  CHECK(status().attributes.send_psn == wire::Psn(0x654321));
  CHECK(status().attributes.max_rd_atomic == 6);

  REQUIRE_FALSE(nic.modify(e.qpn(), QueuePairState::reset, {}, attribute::state));
  CHECK(status().state == QueuePairState::reset);
  CHECK(status().attributes.destination_qpn == 0);
  CHECK_FALSE(status().address);
}

TEST_CASE("a UD queue pair's path MTU is the link's, whatever is asked for") {
  NicWorld world(1500);
  Nic& nic = world.add(1);
  Endpoint e = make_endpoint(nic, wire::Service::unreliable_datagram, 64);
  QueuePairAttributes a;
  a.path_mtu = 4096;
  a.queue_key = 7;
  const auto go = [&](QueuePairState to, transport::AttributeMask named) {
    return nic.modify(e.qpn(), to, a, named);
  };
  REQUIRE_FALSE(
      go(QueuePairState::init, attribute::partition_key | attribute::port | attribute::queue_key));
  CHECK(go(QueuePairState::ready_to_receive, attribute::path_mtu) == ResourceError::bad_attribute);
  REQUIRE_FALSE(go(QueuePairState::ready_to_receive, 0));
  CHECK(nic.query_queue_pair(e.qpn())->attributes.path_mtu == 1024);
  REQUIRE_FALSE(go(QueuePairState::ready_to_send, attribute::send_psn));
}

TEST_CASE("a queue pair that drains shows it, raises the event and takes another address") {
  NicWorld world;
  Nic& one = world.add(1);
  Nic& two = world.add(2);
  Nic& three = world.add(3);
  Endpoint a = make_endpoint(one, wire::Service::reliable_connection, 8192);
  Endpoint b = make_endpoint(two, wire::Service::reliable_connection, 8192);
  Endpoint c = make_endpoint(three, wire::Service::reliable_connection, 8192);
  REQUIRE(b.qpn() == c.qpn());
  connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), wire::RoceVersion::v2);
  QueuePairAttributes later = attributes_to(a.qpn());
  later.receive_psn = later.receive_psn + 1;  // what one packet has taken by then
  const AddressAttributes to_one = address_to(three, "10.0.0.3", "10.0.0.1");
  bring_up(c, later, &to_one);

  b.receive(1, 0, 64);
  c.receive(2, 0, 64);
  transport::SendRequest request;
  request.id = 11;
  a.send(request, 0, 64);
  QueuePairAttributes notify;
  notify.drained_event = true;
  world.settle();
  REQUIRE_FALSE(
      one.modify(a.qpn(), QueuePairState::send_queue_drain, notify, attribute::drained_event));
  world.settle();
  CHECK(a.poll().size() == 1);
  CHECK(b.poll().size() == 1);
  CHECK(one.query_queue_pair(a.qpn())->state == QueuePairState::send_queue_drain);
  CHECK_FALSE(one.query_queue_pair(a.qpn())->draining);
  CHECK(one.events().poll() == Event{transport::AsyncEvent::send_queue_drained, a.qpn()});

  const AddressAttributes to_three = address_to(one, "10.0.0.1", "10.0.0.3");
  CHECK(one.modify(a.qpn(), QueuePairState::send_queue_drain, {}, attribute::address) ==
        ResourceError::bad_attribute);
  REQUIRE_FALSE(
      one.modify(a.qpn(), QueuePairState::send_queue_drain, {}, attribute::address, &to_three));
  REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::ready_to_send, {}, attribute::state));
  CHECK(one.query_queue_pair(a.qpn())->address->destination == gid("10.0.0.3"));
  request.id = 12;
  a.send(request, 0, 64);
  world.settle();
  REQUIRE(a.poll().size() == 1);
  CHECK(c.poll().size() == 1);
  CHECK(b.poll().empty());
}

TEST_CASE("a queue pair held for a neighbour that is not there goes on with its new address") {
  NicWorld world;
  Nic& one = world.add(1);
  Nic& two = world.add(2);
  Endpoint a = make_endpoint(one, wire::Service::reliable_connection, 8192);
  Endpoint b = make_endpoint(two, wire::Service::reliable_connection, 8192);
  connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), wire::RoceVersion::v2);
  const AddressAttributes nowhere = address_to(one, "10.0.0.1", "10.0.0.77");
  const AddressAttributes to_b = address_to(one, "10.0.0.1", "10.0.0.2");
  const auto in_sqd = [&](const AddressAttributes& address) {
    REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::send_queue_drain, {}));
    REQUIRE_FALSE(
        one.modify(a.qpn(), QueuePairState::send_queue_drain, {}, attribute::address, &address));
    REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::ready_to_send, {}, attribute::state));
  };
  in_sqd(nowhere);
  b.receive(1, 0, 64);
  a.send({}, 0, 64);
  world.settle();
  CHECK(b.poll().empty());
  in_sqd(to_b);
  world.settle();
  CHECK(a.poll().size() == 1);
  CHECK(b.poll().size() == 1);
}

TEST_CASE("a queue pair can be destroyed at any moment") {
  // What the queue pair is doing when it goes, and whether another on the same NIC minds.
  enum class Moment { sending, answering, waiting_for_receive, held, draining, repeating };
  for (const Moment moment : {Moment::sending, Moment::answering, Moment::waiting_for_receive,
                              Moment::held, Moment::draining, Moment::repeating}) {
    INFO(static_cast<int>(moment));
    NicWorld world;
    Nic& one = world.add(1);
    Nic& two = world.add(2);
    Endpoint a = make_endpoint(one, wire::Service::reliable_connection, 1 << 20);
    Endpoint b = make_endpoint(two, wire::Service::reliable_connection, 1 << 20);
    Endpoint other_a = make_endpoint(one, wire::Service::reliable_connection, 4096);
    Endpoint other_b = make_endpoint(two, wire::Service::reliable_connection, 4096);
    connect(a, gid("10.0.0.1"), b, gid("10.0.0.2"), wire::RoceVersion::v2);
    connect(other_a, gid("10.0.0.1"), other_b, gid("10.0.0.2"), wire::RoceVersion::v2);
    // Each side does both, so that whichever goes is both requester and responder.
    const auto write_and_read = [](Endpoint& from, Endpoint& to) {
      transport::SendRequest request;
      request.remote_address = to.address();
      request.remote_key = to.keys.remote;
      request.operation = transport::SendOperation::rdma_write;
      from.send(request, 0, 400'000);
      request.operation = transport::SendOperation::rdma_read;
      from.send(request, 0, 400'000);
    };
    Endpoint* goes = &a;
    switch (moment) {
      case Moment::answering:
        goes = &b;
        [[fallthrough]];
      case Moment::sending:
        write_and_read(a, b);
        write_and_read(b, a);
        for (int i = 0; i < 6; ++i) {
          one.turn(world.now());
          two.turn(world.now());
        }
        break;
      case Moment::waiting_for_receive:
        a.send({}, 0, 5000);
        world.settle();
        break;
      case Moment::held: {
        REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::send_queue_drain, {}));
        const AddressAttributes nowhere = address_to(one, "10.0.0.1", "10.0.0.77");
        REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::send_queue_drain, {}, attribute::address,
                                 &nowhere));
        REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::ready_to_send, {}, attribute::state));
        a.send({}, 0, 64);
        world.settle();
        break;
      }
      case Moment::draining:
        a.send({}, 0, 5000);
        world.settle();
        REQUIRE_FALSE(one.modify(a.qpn(), QueuePairState::send_queue_drain, {}));
        REQUIRE(one.query_queue_pair(a.qpn())->draining);
        break;
      case Moment::repeating:
        REQUIRE_FALSE(two.destroy_queue_pair(b.qpn()));
        a.send({}, 0, 5000);
        world.run_for(std::chrono::milliseconds(100));
        break;
    }
    goes->receive(99, 0, 64);
    goes->poll();
    const std::uint32_t number = goes->qpn();
    REQUIRE_FALSE(goes->nic->destroy_queue_pair(number));
    CHECK_FALSE(goes->nic->query_queue_pair(number));

    other_b.receive(1, 0, 64);
    other_a.send({}, 0, 64);
    world.run_for(std::chrono::seconds(30));
    CHECK(goes->poll().empty());
    CHECK(other_a.poll().size() == 1);
    CHECK(other_b.poll().size() == 1);
    CHECK(goes->nic->destroy_completion_queue(*goes->completions) == std::nullopt);
  }
}

TEST_CASE("what a verbs user is told of a refusal") {
  CHECK(error_number(ResourceError::illegal_transition) == EINVAL);
  CHECK(error_number(ResourceError::bad_attribute) == EINVAL);
  CHECK(error_number(ResourceError::mtu_too_large) == EINVAL);
  CHECK(error_number(ResourceError::table_full) == ENOMEM);
  CHECK(error_number(ResourceError::busy) == EBUSY);
}

}  // namespace
}  // namespace softrnic::nic
