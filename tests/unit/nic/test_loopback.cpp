// SPDX-License-Identifier: BSD-3-Clause
// What test_transfer.cpp does not try between queue pairs of one NIC: UC, immediates, atomics.
#include <cstring>

#include "nic_world.hpp"

using namespace softrnic;
using namespace softrnic::nic;
using namespace softrnic::nic::test;
using transport::CompletionStatus;
using transport::SendOperation;
using wire::RoceVersion;

namespace {

constexpr std::size_t kSize = 300'000;

struct Inside {
  explicit Inside(wire::Service service, RoceVersion version = RoceVersion::v2)
      : nic(world.add(1)),
        listener(world.port()),
        a(make_endpoint(nic, service, kSize)),
        b(make_endpoint(nic, service, kSize)) {
    connect(a, gid("10.0.0.1"), b, gid("10.0.0.1"), version);
    const Bytes pattern = random_bytes(kSize, 5);
    std::copy(pattern.begin(), pattern.end(), a.buffer.begin());
  }

  ~Inside() { CHECK(listener.take(world.now()).empty()); }

  // One completion at `e`, a success.
  transport::Completion only(Endpoint& e) {
    const auto done = e.poll();
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == CompletionStatus::success);
    return done[0];
  }

  NicWorld world;
  Nic& nic;
  RawPort listener;
  Endpoint a;
  Endpoint b;
};

transport::SendRequest to(const Endpoint& peer, SendOperation operation) {
  transport::SendRequest request;
  request.operation = operation;
  request.remote_address = peer.address();
  request.remote_key = peer.keys.remote;
  request.immediate = 0xcafe;
  return request;
}

}  // namespace

TEST_CASE("UC inside one NIC loses nothing, however long the message") {
  for (const auto version : {RoceVersion::v1, RoceVersion::v2}) {
    for (const auto operation : {SendOperation::send, SendOperation::rdma_write_with_immediate}) {
      Inside in(wire::Service::unreliable_connection, version);
      in.b.receive(1, 0, kSize);
      in.a.send(to(in.b, operation), 0, kSize);
      in.world.settle();
      in.only(in.a);
      CHECK(in.only(in.b).byte_length == kSize);
      CHECK(in.b.buffer == in.a.buffer);
      CHECK(in.nic.counters().unreliable_dropped == 0);
    }
  }
}

TEST_CASE("RC inside one NIC: SEND with immediate, READ, atomics") {
  Inside in(wire::Service::reliable_connection);
  in.b.receive(1, 0, kSize);
  in.a.send(to(in.b, SendOperation::send_with_immediate), 0, kSize);
  in.world.settle();
  in.only(in.a);
  CHECK(in.only(in.b).immediate == 0xcafe);
  CHECK(in.b.buffer == in.a.buffer);

  const Bytes pattern = random_bytes(kSize, 6);
  std::copy(pattern.begin(), pattern.end(), in.b.buffer.begin());
  in.a.send(to(in.b, SendOperation::rdma_read), 0, kSize);
  in.world.settle();
  in.only(in.a);
  CHECK(in.a.buffer == in.b.buffer);

  std::uint64_t before = 0;
  std::memcpy(&before, in.b.buffer.data(), sizeof before);
  auto add = to(in.b, SendOperation::fetch_add);
  add.swap_add = 3;
  in.a.send(add, 8, 8);
  in.world.settle();
  in.only(in.a);
  std::uint64_t fetched = 0;
  std::uint64_t after = 0;
  std::memcpy(&fetched, in.a.buffer.data() + 8, sizeof fetched);
  std::memcpy(&after, in.b.buffer.data(), sizeof after);
  CHECK(fetched == before);
  CHECK(after == before + 3);
}

TEST_CASE("an error inside one NIC is told to both ends, as between two") {
  Inside in(wire::Service::reliable_connection);
  auto request = to(in.b, SendOperation::rdma_write);
  request.remote_key ^= 1;
  in.a.send(request, 0, 8);
  in.world.settle();
  const auto done = in.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == CompletionStatus::remote_access_error);
  CHECK(in.a.queue_pair->state() == transport::QueuePairState::error);
  CHECK(in.b.queue_pair->state() == transport::QueuePairState::error);
}
