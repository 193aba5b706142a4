// SPDX-License-Identifier: BSD-3-Clause
// Whole NICs over UDP sockets of the loopback interface, in real time; the limit only ends a test
// that hangs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>

#include "nic/event_loop.hpp"
#include "nic_world.hpp"
#include "unit/link/udp_scene.hpp"

namespace softrnic::nic::test {
namespace {

using transport::CompletionStatus;
using transport::SendOperation;
using wire::RoceVersion;

constexpr wire::Duration kLimit = std::chrono::seconds(60);
constexpr std::size_t kHalf = 300'000;

std::unique_ptr<Nic> open_nic(const std::string& address, bool offload) {
  NicConfig config;
  config.seed = address.back();
  return std::make_unique<Nic>(config, link::test::open_address(address, 0, offload));
}

void await(EventLoop& loop, Endpoint& e, std::size_t completions) {
  std::size_t got = 0;
  const auto enough = [&] {
    for (const auto& completion : e.poll()) {
      INFO("completion " << completion.id << ": " << to_string(completion.status));
      CHECK(completion.status == CompletionStatus::success);
      ++got;
    }
    return got >= completions;
  };
  CHECK(loop.run_until(enough, real_now() + kLimit));
}

void expect_right_icrcs(const Nic& nic) {
  CHECK(nic.counters().icrc_errors == 0);
  CHECK(nic.counters().malformed_pkts == 0);
  CHECK(nic.counters().not_for_us == 0);
  CHECK(nic.counters().source_mismatch == 0);
}

TEST_CASE(
    "RC over udp links moves every byte, ICRCs right, whatever the kernel does with packets") {
  const link::test::NetworkNamespace space;
  if (!link::test::prepare_loopback(space, "NICs over udp links")) return;
  for (const auto& [pair, a_offload, b_offload] : {std::tuple{link::test::kIpv4, true, true},
                                                   {link::test::kIpv6, true, true},
                                                   {link::test::kIpv4, true, false},
                                                   {link::test::kIpv4, false, true},
                                                   {link::test::kIpv6, false, false}}) {
    for (const std::uint32_t path_mtu : {256, 1024, 4096}) {
      INFO(pair.left << ", path MTU " << path_mtu << ", " << a_offload << b_offload);
      const auto first = open_nic(pair.left, a_offload);
      const auto second = open_nic(pair.right, b_offload);
      Endpoint a = make_endpoint(*first, wire::Service::reliable_connection, 2 * kHalf);
      Endpoint b = make_endpoint(*second, wire::Service::reliable_connection, 2 * kHalf);
      connect(a, gid(pair.left), b, gid(pair.right), RoceVersion::v2, path_mtu);
      EventLoop loop({first.get(), second.get()});
      const Bytes wanted = random_bytes(kHalf, path_mtu);
      std::copy(wanted.begin(), wanted.end(), a.buffer.begin());
      a.send({.id = 1,
              .operation = SendOperation::rdma_write,
              .remote_address = b.address(),
              .remote_key = b.keys.remote},
             0, kHalf);
      await(loop, a, 1);
      CHECK(std::equal(wanted.begin(), wanted.end(), b.buffer.begin()));
      b.receive(2, kHalf, kHalf);
      a.send({.id = 3}, 0, 100'000);
      await(loop, b, 1);
      await(loop, a, 1);
      CHECK(std::equal(wanted.begin(), wanted.begin() + 100'000, b.buffer.begin() + kHalf));
      a.send({.id = 4,
              .operation = SendOperation::rdma_read,
              .remote_address = b.address(),
              .remote_key = b.keys.remote},
             kHalf, kHalf);
      await(loop, a, 1);
      CHECK(std::equal(wanted.begin(), wanted.end(), a.buffer.begin() + kHalf));
      expect_right_icrcs(*first);
      expect_right_icrcs(*second);
    }
  }
}

TEST_CASE(
    "A NIC on a udp link has one GID, the address, and its packets say what the kernel sends") {
  const link::test::NetworkNamespace space;
  if (!link::test::prepare_loopback(space, "the GID of a NIC on a udp link")) return;
  for (const std::string& own : {link::test::kIpv4.left, link::test::kIpv6.left}) {
    const auto nic = open_nic(own, true);
    REQUIRE(nic->gids().entries().size() == 1);
    CHECK(nic->gids().entries()[0].gid == gid(own));
    CHECK(nic->gids().entries()[0].version == RoceVersion::v2);
    CHECK(nic->active_mtu() == 4096);
  }
}

TEST_CASE("Datagrams go to several peers of a udp link, and one that is absent disturbs none") {
  const link::test::NetworkNamespace space;
  if (!link::test::prepare_loopback(space, "datagrams over udp links")) return;
  const std::string absent = "127.0.0.9";
  const auto nic = open_nic("127.0.0.2", true);
  Endpoint sender = make_endpoint(*nic, wire::Service::unreliable_datagram, 4096);
  bring_up(sender, attributes_to(0, 4096), nullptr);
  std::vector<std::unique_ptr<Nic>> peers;
  std::vector<Endpoint> receivers;
  std::vector<Nic*> all{nic.get()};
  for (const std::string address : {"127.0.0.3", "127.0.0.4"}) {
    peers.push_back(open_nic(address, true));
    all.push_back(peers.back().get());
    receivers.push_back(make_endpoint(*peers.back(), wire::Service::unreliable_datagram, 4096));
    bring_up(receivers.back(), attributes_to(0, 4096), nullptr);
    receivers.back().receive(1, 0, 4096);
  }
  EventLoop loop(all);
  const auto send_to = [&](const std::string& address, std::uint32_t qpn) {
    AddressAttributes to;
    to.destination = gid(address);
    const auto handle = nic->create_address_handle(sender.domain, to);
    REQUIRE(handle);
    transport::SendRequest request;
    request.address_handle = *handle;
    request.remote_qpn = qpn;
    request.remote_queue_key = 0x11111111;
    sender.send(request, 0, 2000);
  };
  send_to(absent, 17);
  send_to("127.0.0.3", receivers[0].qpn());
  send_to(absent, 17);
  send_to("127.0.0.4", receivers[1].qpn());
  await(loop, sender, 4);
  for (Endpoint& receiver : receivers) {
    await(loop, receiver, 1);
    expect_right_icrcs(*receiver.nic);
  }
}

}  // namespace
}  // namespace softrnic::nic::test
