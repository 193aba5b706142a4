// SPDX-License-Identifier: BSD-3-Clause
// Whole NICs on a wire: every service, network layer and path MTU, byte for byte.
#include <catch2/catch.hpp>

#include "nic_world.hpp"

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

}  // namespace
}  // namespace softrnic::nic::test
