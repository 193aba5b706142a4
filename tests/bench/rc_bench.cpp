// SPDX-License-Identifier: BSD-3-Clause
// What RC costs: two NICs on a segment in memory, both turned by this one thread, so every figure
// is for sender and receiver together on one core.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace {

using namespace softrnic;
using transport::QueuePairState;
using transport::SendOperation;

constexpr std::uint32_t kDepth = 128;
constexpr std::uint64_t kAddress = 0x10000000;
constexpr std::size_t kMemory = 1 << 20;

void require(bool ok) {
  if (!ok) std::abort();
}

struct Card {
  Card(link::MemoryWire& wire, unsigned number) : memory(kMemory) {
    nic::NicConfig config;
    config.seed = number;
    config.addresses = {
        *nic::InterfaceAddress::from_string("10.0.0." + std::to_string(number) + "/24")};
    nic = std::make_unique<nic::Nic>(config, wire.attach("port"));
    nic::RegionAttributes region;
    region.domain = domain = nic->allocate_domain();
    region.base = memory.data();
    region.length = memory.size();
    region.virtual_address = kAddress;
    region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
    keys = nic->memory().add(region).value();
    completions = &nic->create_completion_queue(4 * kDepth);
    nic::QueuePairInit init;
    init.domain = domain;
    init.send_completions = init.receive_completions = completions;
    init.capacity.send_requests = init.capacity.receive_requests = kDepth;
    qpn = (*nic->create_queue_pair(init))->qpn();
    ip = config.addresses.front().address;
  }

  void connect(const Card& peer, std::uint32_t path_mtu) {
    nic->add_neighbor(peer.ip, peer.nic->mac());
    transport::QueuePairAttributes attributes;
    attributes.remote_access = transport::kRemoteWrite | transport::kRemoteRead;
    attributes.path_mtu = path_mtu;
    attributes.destination_qpn = peer.qpn;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 16;
    nic::AddressAttributes address;
    address.destination = peer.ip;
    const auto entries = nic->gids().entries();
    while (entries[address.gid_index].gid != ip ||
           entries[address.gid_index].version != wire::RoceVersion::v2) {
      ++address.gid_index;
    }
    require(!nic->modify(qpn, QueuePairState::init, attributes));
    require(!nic->modify(qpn, QueuePairState::ready_to_receive, attributes, &address));
    require(!nic->modify(qpn, QueuePairState::ready_to_send, attributes));
  }

  std::vector<std::byte> memory;
  std::unique_ptr<nic::Nic> nic;
  transport::ProtectionDomain domain{};
  nic::MemoryKeys keys;
  nic::CompletionQueue* completions = nullptr;
  std::uint32_t qpn = 0;
  wire::Gid ip;
};

class Connection {
 public:
  explicit Connection(std::uint32_t path_mtu) : alice_(wire_, 1), bob_(wire_, 2) {
    alice_.connect(bob_, path_mtu);
    bob_.connect(alice_, path_mtu);
  }

  // False when the send queue is full.
  bool post(SendOperation operation, std::uint32_t length, bool signaled) {
    const std::array sges{transport::Sge{kAddress, length, alice_.keys.local}};
    transport::SendRequest request;
    request.operation = operation;
    request.signaled = signaled;
    request.sges = sges;
    request.remote_address = kAddress;
    request.remote_key = bob_.keys.remote;
    return !alice_.nic->post_send(alice_.qpn, request);
  }

  // Both cranks once; how many requests have completed.
  std::size_t turn() {
    now_ += std::chrono::microseconds(1);
    alice_.nic->turn(now_);
    bob_.nic->turn(now_);
    std::array<transport::Completion, 64> done;
    const std::size_t n = alice_.completions->poll(done);
    for (std::size_t i = 0; i < n; ++i) {
      require(done[i].status == transport::CompletionStatus::success);
    }
    return n;
  }

  std::uint64_t packets() const {
    return alice_.nic->counters().sent_pkts + bob_.nic->counters().sent_pkts;
  }
  void require_no_losses() const { require(alice_.nic->counters().retransmitted_pkts == 0); }

 private:
  link::MemoryWire wire_;
  Card alice_;
  Card bob_;
  wire::Instant now_{};
};

// Keeps the send queue full; an iteration is one message, one in `signal_every` signaled.
void stream(benchmark::State& state, SendOperation operation, std::uint32_t path_mtu,
            std::uint32_t length, std::size_t depth, std::size_t signal_every) {
  Connection connection(path_mtu);
  std::size_t posted = 0;
  std::size_t outstanding = 0;
  for (auto _ : state) {
    while (outstanding < depth) {
      const bool signaled = ++posted % signal_every == 0;
      require(connection.post(operation, length, signaled));
      ++outstanding;
    }
    std::size_t done = 0;
    while (done == 0) done = connection.turn();
    outstanding -= done * signal_every;
    // Google Benchmark counts iterations; messages are counted below.
  }
  const auto messages = static_cast<double>(posted - outstanding);
  connection.require_no_losses();
  state.SetBytesProcessed(static_cast<std::int64_t>(messages * length));
  using benchmark::Counter;
  state.counters["Gbit/s"] = Counter(messages * length * 8e-9, Counter::kIsRate);
  state.counters["messages/s"] = Counter(messages, Counter::kIsRate);
  const auto data_packets = messages * std::max(1u, (length + path_mtu - 1) / path_mtu);
  state.counters["per_data_packet"] = Counter(data_packets, Counter::kIsRate | Counter::kInvert);
  state.counters["per_frame"] =
      Counter(static_cast<double>(connection.packets()), Counter::kIsRate | Counter::kInvert);
}

void write_stream(benchmark::State& state) {
  stream(state, SendOperation::rdma_write, static_cast<std::uint32_t>(state.range(0)), 65536, 16,
         1);
}
BENCHMARK(write_stream)->ArgName("path_mtu")->Arg(4096)->Arg(1024)->Arg(256);

void read_stream(benchmark::State& state) {
  stream(state, SendOperation::rdma_read, static_cast<std::uint32_t>(state.range(0)), 65536, 16, 1);
}
BENCHMARK(read_stream)->ArgName("path_mtu")->Arg(4096)->Arg(1024);

// Every request signaled, and, as bandwidth tests do, one in 64.
void write_8_bytes(benchmark::State& state) {
  stream(state, SendOperation::rdma_write, 1024, 8, kDepth,
         static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(write_8_bytes)->ArgName("signaled_every")->Arg(1)->Arg(64);

// One request at a time: the turns of both cranks that a round trip takes.
void write_8_bytes_round_trip(benchmark::State& state) {
  stream(state, SendOperation::rdma_write, 1024, 8, 1, 1);
}
BENCHMARK(write_8_bytes_round_trip);

}  // namespace
