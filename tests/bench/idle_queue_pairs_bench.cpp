// SPDX-License-Identifier: BSD-3-Clause
// What a hundred thousand idle queue pairs cost: the bytes each holds, and the packet rate of one
// queue pair while all others are idle.
//
//     idle_queue_pairs_bench [QUEUE_PAIRS [ROUNDS]]
//
// Two NICs on a segment in memory, both turned by this one thread, so a rate is for sender and
// receiver together on one core. Time is the thread's own, so that what else the machine does
// counts little. Rates with and without the others are measured in turn and compared by their
// medians.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace {

using namespace softrnic;
using transport::QueuePairState;
using transport::SendOperation;

constexpr std::uint64_t kAddress = 0x10000000;
constexpr std::size_t kMemory = 1 << 16;
constexpr std::uint32_t kDepth = 128;
constexpr std::uint32_t kAccess = transport::kLocalWrite | transport::kRemoteWrite |
                                  transport::kRemoteRead | transport::kRemoteAtomic;

void require(bool ok) {
  if (!ok) std::abort();
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What the allocator has given out, its own headers included.
std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

struct Kind {
  std::string name;
  transport::QueuePairType type = transport::QueuePairType::rc;
  transport::QueuePairCapacity capacity{0, 0, 1, 1, 0};  // no user queues
  std::uint8_t read_depth = 1;
};

// A NIC with queue pairs of one kind.
class Host {
 public:
  Host(link::MemoryWire& wire, unsigned number) : memory_(kMemory) {
    nic::NicConfig config;
    config.seed = number;
    config.limits.queue_pairs = 1u << 22;
    config.addresses = {
        *nic::InterfaceAddress::from_string("10.0.0." + std::to_string(number) + "/24")};
    ip_ = config.addresses.front().address;
    nic_ = std::make_unique<nic::Nic>(config, wire.attach("port"));
    nic::RegionAttributes region;
    region.domain = domain_ = nic_->allocate_domain();
    region.base = memory_.data();
    region.length = memory_.size();
    region.virtual_address = kAddress;
    region.access = kAccess;
    keys_ = nic_->memory().add(region).value();
    completions_ = &nic_->create_completion_queue(4 * kDepth);
  }

  void add(const Kind& kind) {
    nic::QueuePairInit init;
    init.type = kind.type;
    init.domain = domain_;
    init.send_completions = init.receive_completions = completions_;
    init.capacity = kind.capacity;
    qpns_.push_back((*nic_->create_queue_pair(init))->qpn());
  }

  // The newest queue pair to the newest of `peer`.
  void connect(const Host& peer, const Kind& kind) {
    transport::QueuePairAttributes attributes;
    attributes.remote_access = kAccess & transport::kRemoteAccess;
    attributes.destination_qpn = peer.qpns_.back();
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = kind.read_depth;
    nic::AddressAttributes address;
    address.destination = peer.ip_;
    address.gid_index = gid_index();
    for (const QueuePairState state :
         {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
      require(!nic_->modify(qpns_.back(), state, attributes, &address));
    }
  }

  void know(const Host& peer) { nic_->add_neighbor(peer.ip_, peer.nic_->mac()); }

  void post(std::size_t queue_pair, SendOperation operation, std::uint32_t length,
            const Host& peer) {
    const std::array sges{transport::Sge{kAddress, length, keys_.local}};
    transport::SendRequest request;
    request.operation = operation;
    request.sges = sges;
    request.remote_address = kAddress;
    request.remote_key = peer.keys_.remote;
    require(!nic_->post_send(qpns_[queue_pair], request));
  }

  std::size_t poll() {
    std::array<transport::Completion, 64> done;
    const std::size_t n = completions_->poll(done);
    for (std::size_t i = 0; i < n; ++i) {
      require(done[i].status == transport::CompletionStatus::success);
    }
    return n;
  }

  nic::Nic& nic() { return *nic_; }

 private:
  std::uint32_t gid_index() const {
    const auto entries = nic_->gids().entries();
    std::uint32_t index = 0;
    while (entries[index].gid != ip_ || entries[index].version != wire::RoceVersion::v2) ++index;
    return index;
  }

  std::vector<std::byte> memory_;
  std::unique_ptr<nic::Nic> nic_;
  transport::ProtectionDomain domain_{};
  nic::MemoryKeys keys_;
  nic::CompletionQueue* completions_ = nullptr;
  wire::Gid ip_;
  std::vector<std::uint32_t> qpns_;
};

// Two hosts whose queue pairs are connected one to one.
class World {
 public:
  World() : alice_(wire_, 1), bob_(wire_, 2) {
    alice_.know(bob_);
    bob_.know(alice_);
    for (int i = 0; i < 8; ++i) turn();  // what is said at the beginning
  }

  void add_pair(const Kind& kind) {
    alice_.add(kind);
    bob_.add(kind);
    alice_.connect(bob_, kind);
    bob_.connect(alice_, kind);
    ++pairs_;
  }

  std::size_t turn() {
    now_ += std::chrono::microseconds(1);
    alice_.nic().turn(now_);
    bob_.nic().turn(now_);
    return alice_.poll();
  }

  // Sends `count` messages with as many as `depth` outstanding, each on the queue pair that
  // `choose` says; seconds it took.
  double run(SendOperation operation, std::uint32_t length, std::size_t count, std::size_t depth,
             const std::function<std::size_t(std::size_t)>& choose) {
    const double start = thread_seconds();
    std::size_t posted = 0;
    std::size_t done = 0;
    while (done < count) {
      while (posted < count && posted - done < depth) {
        alice_.post(choose(posted), operation, length, bob_);
        ++posted;
      }
      done += turn();
    }
    const double seconds = thread_seconds() - start;
    require(alice_.nic().counters().retransmitted_pkts == 0);
    return seconds;
  }

  // Packets of both directions so far.
  std::uint64_t packets() {
    return alice_.nic().counters().sent_pkts + bob_.nic().counters().sent_pkts;
  }
  std::size_t pairs() const { return pairs_; }

 private:
  link::MemoryWire wire_;
  Host alice_;
  Host bob_;
  std::size_t pairs_ = 0;
  wire::Instant now_{};
};

// ---------------------------------------------------------------- bytes

// `use` is done with each pair once they are all connected.
void print_bytes(const Kind& kind, std::size_t queue_pairs,
                 const std::function<void(World&, std::size_t pair)>& use = {}) {
  malloc_trim(0);  // what the case before has freed would hide what this one takes
  World world;
  const std::size_t heap = heap_bytes();
  const std::size_t resident = resident_bytes();
  const double start = thread_seconds();
  const std::size_t pairs = queue_pairs / 2;
  for (std::size_t i = 0; i < pairs; ++i) world.add_pair(kind);
  const double seconds = thread_seconds() - start;
  for (std::size_t i = 0; use && i < pairs; ++i) use(world, i);
  const auto each = static_cast<double>(2 * pairs);
  std::printf("%-58s %9.0f %9.0f %9.2f\n", kind.name.c_str(),
              static_cast<double>(heap_bytes() - heap) / each,
              static_cast<double>(resident_bytes() - resident) / each, 1e6 * seconds / each);
  std::fflush(stdout);
}

void print_all_bytes(std::size_t queue_pairs) {
  std::printf("%zu connected queue pairs in one process\n", queue_pairs);
  std::printf("%-58s %9s %9s %9s\n", "", "bytes", "resident", "us");
  std::printf("%-58s %9s %9s %9s\n", "kind", "each", "each", "to make");
  print_bytes({.name = "RC, no user queues, 1 READ"}, queue_pairs);
  print_bytes({.name = "RC, no user queues, 16 READs", .read_depth = 16}, queue_pairs);
  print_bytes({.name = "UC, no user queues", .type = transport::QueuePairType::uc}, queue_pairs);
  print_bytes({.name = "UD, no user queues", .type = transport::QueuePairType::ud}, queue_pairs);
  const transport::QueuePairCapacity one{1, 0, 1, 1, 0};
  print_bytes({.name = "RC, 1 send request", .capacity = one, .read_depth = 16}, queue_pairs);
  print_bytes(
      {.name = "RC, 1 send request, after a WRITE and a READ", .capacity = one, .read_depth = 16},
      queue_pairs, [](World& world, std::size_t pair) {
        const auto same = [pair](std::size_t) { return pair; };
        world.run(SendOperation::rdma_write, 8, 1, 1, same);
        world.run(SendOperation::rdma_read, 8, 1, 1, same);
      });
  print_bytes({.name = "RC, 16 send and 16 receive requests of 1 element",
               .capacity = {16, 16, 1, 1, 0},
               .read_depth = 16},
              queue_pairs);
}

// ---------------------------------------------------------------- rate

struct Load {
  const char* name;
  SendOperation operation;
  std::uint32_t length;
  std::size_t depth;
  std::size_t count;
};

constexpr Load kLoads[] = {
    {"WRITE of 8 bytes, 128 outstanding", SendOperation::rdma_write, 8, kDepth, 100'000},
    {"WRITE of 8 bytes, one at a time", SendOperation::rdma_write, 8, 1, 50'000},
    {"WRITE of 4096 bytes, 16 outstanding", SendOperation::rdma_write, 4096, 16, 20'000},
    {"READ of 8 bytes, 16 outstanding", SendOperation::rdma_read, 8, 16, 50'000},
};

const Kind kBusy{.name = "busy", .capacity = {kDepth, 0, 1, 1, 0}, .read_depth = 16};
const Kind kIdle{.name = "idle", .capacity = {1, 0, 1, 1, 0}, .read_depth = 16};

// Packets a second with the last pair of `world`, the one made after all idle ones.
double rate(World& world, const Load& load) {
  const std::size_t last = world.pairs() - 1;
  const std::uint64_t before = world.packets();
  const double seconds = world.run(load.operation, load.length, load.count, load.depth,
                                   [last](std::size_t) { return last; });
  return static_cast<double>(world.packets() - before) / seconds;
}

void print_rates(World& alone, World& crowded, std::size_t rounds) {
  std::printf("\npackets a second on one RC queue pair, medians of %zu rounds\n", rounds);
  std::printf("%-58s %9s %9s %9s\n", "load", "alone", "crowded", "change");
  for (const Load& load : kLoads) {
    std::vector<double> without;
    std::vector<double> with;
    std::vector<double> ratios;
    rate(alone, load);
    rate(crowded, load);
    for (std::size_t round = 0; round < rounds; ++round) {
      // Neither is always the first.
      if (round % 2 == 0) without.push_back(rate(alone, load));
      with.push_back(rate(crowded, load));
      if (round % 2 != 0) without.push_back(rate(alone, load));
      ratios.push_back(with.back() / without.back());
    }
    std::printf("%-58s %9.0f %9.0f %+8.1f%%\n", load.name, median(without), median(with),
                100 * (median(ratios) - 1));
    std::fflush(stdout);
  }
}

// Not idle at all: each message on another queue pair, so that none is in any cache.
void print_spread(World& crowded, std::size_t rounds) {
  const std::size_t pairs = crowded.pairs();
  std::vector<double> rates;
  std::size_t next = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::uint64_t before = crowded.packets();
    const double seconds = crowded.run(SendOperation::rdma_write, 8, 50'000, kDepth,
                                       [&](std::size_t) { return next = (next + 7919) % pairs; });
    rates.push_back(static_cast<double>(crowded.packets() - before) / seconds);
  }
  std::printf("%-58s %9s %9.0f\n", "WRITE of 8 bytes, each on another queue pair", "",
              median(rates));
}

std::size_t argument(int count, char** arguments, int index, std::size_t otherwise) {
  if (index >= count) return otherwise;
  const unsigned long value = std::strtoul(arguments[index], nullptr, 10);
  if (value < 2 || value > 1'000'000) {
    std::fprintf(stderr,
                 "usage: idle_queue_pairs_bench [QUEUE_PAIRS [ROUNDS]], 2 to 1000000 each\n");
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t queue_pairs = argument(argc, argv, 1, 100'000);
  const std::size_t rounds = argument(argc, argv, 2, 15);
  print_all_bytes(queue_pairs);

  World alone;
  alone.add_pair(kBusy);
  World crowded;
  for (std::size_t i = 0; i < queue_pairs; ++i) crowded.add_pair(kIdle);
  crowded.add_pair(kBusy);
  std::printf("\ncrowded: %zu idle queue pairs on each side\n", queue_pairs);
  print_rates(alone, crowded, rounds);
  print_spread(crowded, rounds);
  return 0;
}
