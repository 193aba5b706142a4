// SPDX-License-Identifier: BSD-3-Clause
// What the udp link costs on the loopback interface: frames, and RC with its ICRCs, with the
// kernel's help (pieces of many packets, UDP_SEGMENT and UDP_GRO) and without. Both ends are in
// this one thread, so every figure is for sender and receiver together on one core. Needs nothing
// but the addresses 127.0.0.2, 127.0.0.3 and, for IPv6, ::1 and one more on lo:
//   ip addr add fd00:4791::2/128 dev lo
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "link/udp_link.hpp"
#include "nic/event_loop.hpp"
#include "nic/nic.hpp"
#include "wire/address_vector.hpp"

namespace {

using namespace softrnic;
using transport::QueuePairState;

constexpr std::size_t kBurst = 64;
constexpr std::uint64_t kAddress = 0x10000000;
constexpr std::size_t kMemory = 1 << 20;

std::string address_of(bool ipv6, int end) {
  if (ipv6) return end == 0 ? "::1" : "fd00:4791::2";
  return end == 0 ? "127.0.0.2" : "127.0.0.3";
}

std::unique_ptr<link::Link> open_end(benchmark::State& state, bool ipv6, int end, bool offload) {
  auto link = link::open_udp({.address = address_of(ipv6, end), .offload = offload, .mtu = 4200});
  if (link) return std::move(link).value();
  state.SkipWithError(link.error().message.c_str());
  return nullptr;
}

// Bursts of frames with `payload` bytes behind the UDP header.
void frames(benchmark::State& state, bool ipv6, bool offload, std::size_t payload) {
  const auto from = open_end(state, ipv6, 0, offload);
  if (from == nullptr) return;
  const auto to = open_end(state, ipv6, 1, offload);
  if (to == nullptr) return;
  wire::AddressVector vector;
  vector.source = *wire::Gid::from_string(address_of(ipv6, 0));
  vector.destination = *wire::Gid::from_string(address_of(ipv6, 1));
  vector.udp_source_port = wire::kRoceV2Port;
  std::array<link::Frame*, kBurst> burst{};
  std::size_t lost = 0;
  for (auto _ : state) {
    std::size_t left = from->tx_alloc(burst);
    for (std::size_t i = 0; i < left; ++i) {
      (void)burst[i]->append(payload);
      vector.serialize(burst[i]->prepend(vector.size()), payload, 0);
    }
    from->tx_push({}, {burst.data(), left});
    for (int idle = 0; left > 0 && idle < 1000;) {
      const std::size_t n = to->rx_burst({}, burst);
      to->rx_release({burst.data(), n});
      left -= n;
      idle = n == 0 ? idle + 1 : 0;
    }
    lost += left;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBurst - lost));
  state.SetBytesProcessed(
      static_cast<std::int64_t>((state.iterations() * kBurst - lost) * payload));
  state.counters["lost"] = static_cast<double>(lost);
}

struct Card {
  explicit Card(std::unique_ptr<link::Link> link) : memory(kMemory) {
    nic::NicConfig config;
    config.seed = 1;
    nic = std::make_unique<nic::Nic>(config, std::move(link));
    nic::RegionAttributes region;
    region.domain = domain = nic->allocate_domain();
    region.base = memory.data();
    region.length = memory.size();
    region.virtual_address = kAddress;
    region.access = transport::kLocalWrite | transport::kRemoteWrite;
    keys = nic->memory().add(region).value();
    completions = &nic->create_completion_queue(1024);
    nic::QueuePairInit init;
    init.domain = domain;
    init.send_completions = init.receive_completions = completions;
    init.capacity.send_requests = init.capacity.receive_requests = 128;
    qpn = (*nic->create_queue_pair(init))->qpn();
  }

  void connect(const Card& peer) {
    transport::QueuePairAttributes attributes;
    attributes.remote_access = transport::kRemoteWrite;
    attributes.path_mtu = 4096;
    attributes.destination_qpn = peer.qpn;
    nic::AddressAttributes address;
    address.destination = peer.nic->gids().entries()[0].gid;
    for (const QueuePairState next :
         {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
      if (nic->modify(qpn, next, attributes, &address)) std::abort();
    }
  }

  std::vector<std::byte> memory;
  std::unique_ptr<nic::Nic> nic;
  transport::ProtectionDomain domain{};
  nic::MemoryKeys keys;
  nic::CompletionQueue* completions = nullptr;
  std::uint32_t qpn = 0;
};

// WRITEs of 64 KiB at path MTU 4096, two at a time.
void writes(benchmark::State& state, bool ipv6, bool offload) {
  constexpr std::uint32_t kLength = 65536;
  auto from = open_end(state, ipv6, 0, offload);
  if (from == nullptr) return;
  auto to = open_end(state, ipv6, 1, offload);
  if (to == nullptr) return;
  Card alice(std::move(from));
  Card bob(std::move(to));
  alice.connect(bob);
  bob.connect(alice);
  std::size_t outstanding = 0;
  for (auto _ : state) {
    for (; outstanding < 2; ++outstanding) {
      const std::array sges{transport::Sge{kAddress, kLength, alice.keys.local}};
      transport::SendRequest request;
      request.operation = transport::SendOperation::rdma_write;
      request.sges = sges;
      request.remote_address = kAddress;
      request.remote_key = bob.keys.remote;
      if (alice.nic->post_send(alice.qpn, request)) std::abort();
    }
    std::array<transport::Completion, 4> done;
    std::size_t n = 0;
    while (n == 0) {
      alice.nic->turn(nic::real_now());
      bob.nic->turn(nic::real_now());
      n = alice.completions->poll(done);
    }
    outstanding -= n;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * kLength);
  state.counters["again"] = static_cast<double>(alice.nic->counters().retransmitted_pkts);
}

[[maybe_unused]] const bool registered = [] {
  for (const bool ipv6 : {false, true}) {
    for (const bool offload : {true, false}) {
      const std::string name =
          std::string(ipv6 ? "IPv6" : "IPv4") + (offload ? "/pieces" : "/one_by_one");
      for (const std::size_t payload : {28, 1040, 4112}) {
        benchmark::RegisterBenchmark(
            ("udp/" + name + "/frames/" + std::to_string(payload)).c_str(),
            [=](benchmark::State& state) { frames(state, ipv6, offload, payload); });
      }
      benchmark::RegisterBenchmark(("udp/" + name + "/write/65536").c_str(),
                                   [=](benchmark::State& state) { writes(state, ipv6, offload); });
    }
  }
  return true;
}();

}  // namespace
