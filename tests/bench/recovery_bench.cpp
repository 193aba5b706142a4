// SPDX-License-Identifier: BSD-3-Clause
// What loss costs with go-back-N and with selective repeat: two NICs under a virtual clock, 10 us
// apart, and a wire that loses frames both ways. The times shown are the virtual clock's, so they
// are the same on every machine; an iteration is one transfer with a seed of its own.
//
//   sent_per_packet    request packets sent for each that was needed
//   answers_per_packet answers for each
//   timeouts           of the local ACK timer, in a transfer
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "fabric/fault_link.hpp"
#include "virtual_net.hpp"

namespace {

using namespace softrnic;
using transport::QueuePairState;
using transport::SendOperation;

constexpr std::uint64_t kAddress = 0x10000000;
constexpr std::uint32_t kMessage = 65536;
constexpr std::uint32_t kPathMtu = 1024;
constexpr std::uint32_t kMessages = 1000;
constexpr std::uint32_t kDepth = 16;

void require(bool ok) {
  if (!ok) std::abort();
}

std::vector<fabric::FaultRule> rules(std::int64_t loss_percent) {
  std::vector<fabric::FaultRule> all;
  if (loss_percent > 0)
    all.push_back(*fabric::FaultRule::parse(fmt::format("drop {}%", loss_percent)));
  all.push_back(*fabric::FaultRule::parse("delay 10us"));
  return all;
}

struct Card {
  Card(test::VirtualNet& net, unsigned number, std::int64_t loss_percent, std::uint64_t seed)
      : memory(kMessage) {
    nic::NicConfig config;
    config.seed = number;
    config.addresses = {
        *nic::InterfaceAddress::from_string("10.0.0." + std::to_string(number) + "/24")};
    ip = config.addresses.front().address;
    // Both directions pass the first card's link; the second's is perfect.
    nic = &net.add(config, [&](std::unique_ptr<link::Link> port) -> std::unique_ptr<link::Link> {
      if (number != 1) return port;
      fabric::FaultOptions options;
      options.seed = seed;
      return fabric::inject_faults(std::move(port), rules(loss_percent), options);
    });
    nic::RegionAttributes region;
    region.domain = nic->allocate_domain();
    region.base = memory.data();
    region.length = memory.size();
    region.virtual_address = kAddress;
    region.access = transport::kLocalWrite | transport::kRemoteWrite;
    keys = nic->memory().add(region).value();
    completions = &nic->create_completion_queue(1024);
    nic::QueuePairInit init;
    init.domain = region.domain;
    init.send_completions = init.receive_completions = completions;
    init.capacity.send_requests = kDepth;
    init.capacity.receive_requests = 4 * kDepth;
    qpn = (*nic->create_queue_pair(init))->qpn();
  }

  void connect(const Card& peer, bool selective) {
    transport::QueuePairAttributes attributes;
    attributes.remote_access = transport::kRemoteWrite;
    attributes.path_mtu = kPathMtu;
    attributes.destination_qpn = peer.qpn;
    attributes.selective_repeat = selective;
    nic::AddressAttributes address;
    address.destination = peer.ip;
    address.gid_index = test::gid_index(*nic, ip, wire::RoceVersion::v2);
    require(!nic->modify(qpn, QueuePairState::init, attributes));
    require(!nic->modify(qpn, QueuePairState::ready_to_receive, attributes, &address));
    require(!nic->modify(qpn, QueuePairState::ready_to_send, attributes));
  }

  transport::Sge sge() const { return {kAddress, kMessage, keys.local}; }

  std::vector<std::byte> memory;
  nic::Nic* nic = nullptr;
  nic::MemoryKeys keys;
  nic::CompletionQueue* completions = nullptr;
  std::uint32_t qpn = 0;
  wire::Gid ip;
};

struct Transfer {
  wire::Duration took{};
  std::uint64_t sent = 0;
  std::uint64_t answers = 0;
  std::uint64_t timeouts = 0;
};

Transfer transfer(SendOperation operation, std::int64_t loss_percent, bool selective,
                  std::uint64_t seed) {
  test::VirtualNet net;
  Card alice(net, 1, loss_percent, seed);
  Card bob(net, 2, loss_percent, seed);
  net.introduce_all();
  alice.connect(bob, selective);
  bob.connect(alice, selective);

  std::uint32_t posted = 0;
  std::uint32_t done = 0;
  std::uint32_t receives = 0;
  const std::array from{alice.sge()};
  const std::array to{bob.sge()};
  std::array<transport::Completion, 64> completions;
  while (done < kMessages) {
    while (receives < kMessages && !bob.nic->post_receive(bob.qpn, {receives, to})) ++receives;
    transport::SendRequest request;
    request.operation = operation;
    request.sges = from;
    request.remote_address = kAddress;
    request.remote_key = bob.keys.remote;
    while (posted < kMessages && !alice.nic->post_send(alice.qpn, request)) ++posted;
    require(net.step());
    const std::size_t n = alice.completions->poll(completions);
    for (std::size_t i = 0; i < n; ++i) {
      require(completions[i].status == transport::CompletionStatus::success);
    }
    done += static_cast<std::uint32_t>(n);
    bob.completions->poll(completions);
  }
  const transport::Counters& counters = alice.nic->counters();
  return {net.now() - wire::Instant{}, counters.sent_pkts, bob.nic->counters().sent_pkts,
          counters.local_ack_timeout_err};
}

void transfers(benchmark::State& state, SendOperation operation) {
  Transfer sum;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    const Transfer each = transfer(operation, state.range(0), state.range(1) != 0, ++seed);
    sum.sent += each.sent;
    sum.answers += each.answers;
    sum.timeouts += each.timeouts;
    state.SetIterationTime(std::chrono::duration<double>(each.took).count());
  }
  const auto rounds = static_cast<double>(state.iterations());
  const double needed = rounds * kMessages * (kMessage / kPathMtu);
  state.counters["sent_per_packet"] = static_cast<double>(sum.sent) / needed;
  state.counters["answers_per_packet"] = static_cast<double>(sum.answers) / needed;
  state.counters["timeouts"] = static_cast<double>(sum.timeouts) / rounds;
}

void write_64k(benchmark::State& state) {
  transfers(state, SendOperation::rdma_write);
}

void send_64k(benchmark::State& state) {
  transfers(state, SendOperation::send);
}

void every_loss(benchmark::internal::Benchmark* each) {
  each->ArgNames({"loss_percent", "selective"})->ArgsProduct({{0, 1, 5}, {0, 1}});
  each->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
}
BENCHMARK(write_64k)->Apply(every_loss);
BENCHMARK(send_64k)->Apply(every_loss);

}  // namespace
