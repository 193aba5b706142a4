// SPDX-License-Identifier: BSD-3-Clause
// What the shared-memory link costs, side by side: a plain ring between two processes (the least
// there can be: one copy in, one copy out), the link's frames, and RC over it, ICRC and all. Each
// process spins on a processor of its own. Medians of 5; load from others spoils them.
//
//   shm_side_by_side [--only ROW] [SECONDS PER RUN]
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "link/shm_link.hpp"
#include "nic/event_loop.hpp"
#include "nic/nic.hpp"

namespace {

using namespace softrnic;
using nic::real_now;
using transport::QueuePairState;
using transport::SendOperation;

constexpr int kRuns = 5;
constexpr std::size_t kFrame4096 = 4154;  // RoCE v2 over IPv4 with 4096 bytes of payload
constexpr std::size_t kLeastFrame = 64;
constexpr std::uint32_t kPathMtu = 4096;
constexpr std::uint64_t kAddress = 0x10000000;
constexpr std::size_t kMemory = 1 << 20;

wire::Duration run_time = std::chrono::milliseconds(300);
std::string only_row;  // empty: every one

void require(bool ok, const char* what) {
  if (ok) return;
  fmt::print(stderr, "shm_side_by_side: {}\n", what);
  std::_Exit(1);
}

void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ::sched_setaffinity(0, sizeof(set), &set);  // with one processor it stays where it is
}

// What the two processes of a run tell each other.
struct Common {
  std::atomic<bool> ready;
  std::atomic<bool> stop;
  std::atomic<std::uint64_t> count;
  struct {
    std::uint32_t qpn, key;
    wire::MacAddress mac;
    wire::Gid ip;
  } ends[2];
  std::atomic<int> told;
  // The plain ring, 1024 frames, once each way.
  struct Ring {
    static constexpr std::uint32_t kSlots = 1024;
    alignas(64) std::atomic<std::uint32_t> head;
    alignas(64) std::atomic<std::uint32_t> tail;
    std::uint32_t length[kSlots];
    std::byte bytes[kSlots][4352];
  } rings[2];
};

Common* new_common() {
  void* memory = ::mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  require(memory != MAP_FAILED, "no memory");
  return new (memory) Common();
}

// Runs `far` in a process of its own on the other processor and `near` here; what near measured.
using Side = std::function<void(Common&)>;
double side_by_side(const Side& far, const std::function<double(Common&)>& near) {
  Common* common = new_common();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(1);
    far(*common);
    std::_Exit(0);
  }
  pin(0);
  const double measured = near(*common);
  common->stop = true;
  int status = 0;
  ::waitpid(child, &status, 0);
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process failed");
  ::munmap(common, sizeof(Common));
  return measured;
}

double median(const std::function<double()>& run) {
  std::array<double, kRuns> values{};
  for (double& value : values) value = run();
  std::sort(values.begin(), values.end());
  return values[kRuns / 2];
}

double seconds_since(wire::Instant begin) {
  return std::chrono::duration<double>(real_now() - begin).count();
}

// ---- the plain ring

bool ring_put(Common::Ring& ring, const std::byte* from, std::uint32_t length) {
  const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
  if (head - ring.tail.load(std::memory_order_acquire) == Common::Ring::kSlots) return false;
  ring.length[head % Common::Ring::kSlots] = length;
  std::memcpy(ring.bytes[head % Common::Ring::kSlots], from, length);
  ring.head.store(head + 1, std::memory_order_release);
  return true;
}

bool ring_get(Common::Ring& ring, std::byte* to) {
  const std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
  if (tail == ring.head.load(std::memory_order_acquire)) return false;
  std::memcpy(to, ring.bytes[tail % Common::Ring::kSlots],
              ring.length[tail % Common::Ring::kSlots]);
  ring.tail.store(tail + 1, std::memory_order_release);
  return true;
}

double ring_rate(std::uint32_t length) {
  return side_by_side(
      [](Common& common) {
        std::array<std::byte, 4352> buffer;
        while (!common.stop) {
          if (ring_get(common.rings[0], buffer.data())) {
            common.count.fetch_add(1, std::memory_order_relaxed);
          }
        }
      },
      [length](Common& common) {
        std::array<std::byte, 4352> buffer{};
        const wire::Instant begin = real_now();
        const std::uint64_t before = common.count;
        for (int i = 0;; ++i) {
          ring_put(common.rings[0], buffer.data(), length);
          if (i % 1024 == 0 && real_now() - begin > run_time) break;
        }
        return static_cast<double>(common.count - before) / seconds_since(begin);
      });
}

double ring_round_trip(std::uint32_t length) {
  return side_by_side(
      [length](Common& common) {
        std::array<std::byte, 4352> buffer;
        while (!common.stop) {
          if (ring_get(common.rings[0], buffer.data())) {
            ring_put(common.rings[1], buffer.data(), length);
          }
        }
      },
      [length](Common& common) {
        std::array<std::byte, 4352> buffer{};
        const wire::Instant begin = real_now();
        double trips = 0;
        while (real_now() - begin < run_time) {
          ring_put(common.rings[0], buffer.data(), length);
          while (!ring_get(common.rings[1], buffer.data())) {
          }
          ++trips;
        }
        return seconds_since(begin) / trips * 1e6;
      });
}

// ---- frames

std::unique_ptr<link::Link> open_link(const std::string& host) {
  auto link =
      link::open_shm({.segment = "bench-" + std::to_string(::getpgrp()), .host = host, .mtu = 0});
  if (!link) fmt::print(stderr, "{}\n", link.error().message);
  require(link.has_value(), "no link");
  return std::move(link).value();
}

std::size_t send_frames(link::Link& link, const std::byte* from, std::size_t length,
                        std::size_t most, wire::Instant now) {
  std::array<link::Frame*, 32> frames;
  const std::size_t n = link.tx_alloc(std::span(frames).first(most));
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(frames[i]->append(length).front().data(), from, length);
  }
  link.tx_push(now, std::span(frames).first(n));
  return n;
}

// Copied out, as by who has another place for them.
std::size_t receive_frames(link::Link& link, std::byte* to, wire::Instant now) {
  std::array<link::Frame*, 32> frames;
  const std::size_t n = link.rx_burst(now, frames);
  for (std::size_t i = 0; i < n; ++i) {
    frames[i]->bytes().copy_to(0, {to, frames[i]->size()});
  }
  link.rx_release(std::span(frames).first(n));
  return n;
}

std::array<std::byte, 4352> frame_to(const wire::MacAddress& to, const wire::MacAddress& from) {
  std::array<std::byte, 4352> bytes{};
  wire::store_mac(bytes.data(), to);
  wire::store_mac(bytes.data() + 6, from);
  return bytes;
}

double link_rate(std::size_t length) {
  return side_by_side(
      [](Common& common) {
        const auto link = open_link("b");
        std::array<std::byte, 4352> buffer;
        common.ends[1].mac = link->capabilities().mac;
        common.ready = true;
        while (!common.stop) {
          const std::size_t n = receive_frames(*link, buffer.data(), real_now());
          if (n > 0) common.count.fetch_add(n, std::memory_order_relaxed);
        }
      },
      [length](Common& common) {
        const auto link = open_link("a");
        while (!common.ready) {
        }
        const auto bytes = frame_to(common.ends[1].mac, link->capabilities().mac);
        const wire::Instant begin = real_now();
        wire::Instant now = begin;
        for (; now - begin < run_time; now = real_now()) {
          send_frames(*link, bytes.data(), length, 32, now);
          receive_frames(*link, nullptr, now);
        }
        return static_cast<double>(common.count) / seconds_since(begin);
      });
}

double link_round_trip(std::size_t length) {
  return side_by_side(
      [length](Common& common) {
        const auto link = open_link("b");
        std::array<std::byte, 4352> buffer;
        common.ends[1].mac = link->capabilities().mac;
        common.ready = true;
        while (!common.told) {
        }
        const auto bytes = frame_to(common.ends[0].mac, link->capabilities().mac);
        while (!common.stop) {
          const wire::Instant now = real_now();
          if (receive_frames(*link, buffer.data(), now) > 0) {
            send_frames(*link, bytes.data(), length, 1, now);
          }
        }
      },
      [length](Common& common) {
        const auto link = open_link("a");
        std::array<std::byte, 4352> buffer;
        while (!common.ready) {
        }
        common.ends[0].mac = link->capabilities().mac;
        common.told = 1;
        const auto bytes = frame_to(common.ends[1].mac, link->capabilities().mac);
        const wire::Instant begin = real_now();
        wire::Instant now = begin;
        double trips = 0;
        while (now - begin < run_time) {
          send_frames(*link, bytes.data(), length, 1, now);
          do {
            now = real_now();
          } while (receive_frames(*link, buffer.data(), now) == 0);
          ++trips;
        }
        return seconds_since(begin) / trips * 1e6;
      });
}

// ---- RC

struct Card {
  Card(Common& common, int its_end) : memory(kMemory), end(its_end) {
    auto link = open_link(end == 0 ? "a" : "b");
    nic::NicConfig config;
    config.seed = static_cast<std::uint64_t>(end) + 1;
    config.mac = link->capabilities().mac;
    for (const auto& [ip, prefix] : link->capabilities().identity->addresses) {
      config.addresses.push_back({ip, prefix});
    }
    card = std::make_unique<nic::Nic>(config, std::move(link));
    nic::RegionAttributes region;
    region.domain = domain = card->allocate_domain();
    region.base = memory.data();
    region.length = memory.size();
    region.virtual_address = kAddress;
    region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
    keys = card->memory().add(region).value();
    completions = &card->create_completion_queue(1024);
    nic::QueuePairInit init;
    init.domain = domain;
    init.send_completions = init.receive_completions = completions;
    init.capacity.send_requests = init.capacity.receive_requests = 128;
    qpn = (*card->create_queue_pair(init))->qpn();
    common.ends[end] = {qpn, keys.remote, card->mac(), config.addresses.front().address};
    ++common.told;
    while (common.told != 2) {
    }
    connect(common.ends[1 - end]);
    far_key = common.ends[1 - end].key;
  }

  template <class End>
  void connect(const End& far) {
    card->add_neighbor(far.ip, far.mac);
    transport::QueuePairAttributes attributes;
    attributes.remote_access = transport::kRemoteWrite | transport::kRemoteRead;
    attributes.path_mtu = kPathMtu;
    attributes.destination_qpn = far.qpn;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 16;
    attributes.timeout = 14;
    attributes.retry_count = 7;
    nic::AddressAttributes address;
    address.destination = far.ip;
    address.gid_index = 3;
    require(!card->modify(qpn, QueuePairState::init, attributes), "INIT");
    require(!card->modify(qpn, QueuePairState::ready_to_receive, attributes, &address), "RTR");
    require(!card->modify(qpn, QueuePairState::ready_to_send, attributes), "RTS");
  }

  bool post(SendOperation operation, std::uint64_t at, std::uint32_t length, bool signaled) {
    const std::array sges{transport::Sge{kAddress + at, length, keys.local}};
    transport::SendRequest request;
    request.operation = operation;
    request.signaled = signaled;
    request.sges = sges;
    request.remote_address = kAddress + at;
    request.remote_key = far_key;
    return !card->post_send(qpn, request);
  }

  std::size_t turn() {
    card->turn(real_now());
    std::array<transport::Completion, 64> done;
    const std::size_t n = completions->poll(done);
    for (std::size_t i = 0; i < n; ++i) {
      require(done[i].status == transport::CompletionStatus::success, "a request failed");
    }
    return n;
  }

  std::vector<std::byte> memory;
  int end;
  std::unique_ptr<nic::Nic> card;
  transport::ProtectionDomain domain{};
  nic::MemoryKeys keys;
  nic::CompletionQueue* completions = nullptr;
  std::uint32_t qpn = 0;
  std::uint32_t far_key = 0;
};

void serve(Common& common) {
  Card card(common, 1);
  while (!common.stop) card.turn();
}

double stream(SendOperation operation, std::uint32_t length, std::size_t depth,
              std::size_t signal_every) {
  return side_by_side(serve, [=](Common& common) {
    Card card(common, 0);
    std::size_t posted = 0, outstanding = 0, completed = 0;
    const wire::Instant begin = real_now();
    for (int i = 0; i % 64 != 0 || real_now() - begin < run_time; ++i) {
      while (outstanding < depth) {
        require(card.post(operation, 0, length, ++posted % signal_every == 0), "post");
        ++outstanding;
      }
      const std::size_t done = card.turn() * signal_every;
      outstanding -= done;
      completed += done;
    }
    const double rate = static_cast<double>(completed) / seconds_since(begin);
    const auto again = card.card->counters().retransmitted_pkts;
    if (again > 0) fmt::print("  ({} packets were sent again)\n", again);
    return rate;
  });
}

// Each side writes 8 bytes into the other's memory and waits for the answer in its own: half of
// the time from one to the next, as ib_write_lat.
double write_latency() {
  const auto bounce = [](Card& card, std::uint64_t value) {
    std::memcpy(card.memory.data(), &value, sizeof(value));
    while (!card.post(SendOperation::rdma_write, 0, 8, true)) card.turn();
  };
  const auto arrived = [](const Card& card, std::uint64_t value) {
    std::uint64_t seen;
    std::memcpy(&seen, card.memory.data(), sizeof(seen));
    return seen == value;
  };
  return side_by_side(
      [&](Common& common) {
        Card card(common, 1);
        for (std::uint64_t value = 1; !common.stop; value += 2) {
          while (!arrived(card, value) && !common.stop) card.turn();
          if (!common.stop) bounce(card, value + 1);
        }
      },
      [&](Common& common) {
        Card card(common, 0);
        const wire::Instant begin = real_now();
        std::uint64_t value = 1;
        for (; real_now() - begin < run_time; value += 2) {
          bounce(card, value);
          while (!arrived(card, value + 1)) card.turn();
        }
        return seconds_since(begin) / static_cast<double>(value) * 1e6;
      });
}

void row(const std::string& what, const std::function<double()>& run, double scale,
         const char* unit) {
  if (!only_row.empty() && what != only_row) return;
  fmt::print("{:<52}{:>9.2f} {}\n", what, median(run) * scale, unit);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    char* end = nullptr;
    const double seconds = std::strtod(argv[i], &end);
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only_row = argv[++i];
    } else if (end != argv[i] && *end == '\0' && seconds > 0 && seconds < 1000) {
      run_time = std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(seconds));
    } else {
      require(false, "usage: shm_side_by_side [--only ROW] [SECONDS PER RUN]");
    }
  }
  ::setpgid(0, 0);
  row(
      "plain ring, 4154-byte frames", [] { return ring_rate(kFrame4096); }, kFrame4096 / 1e9,
      "GB/s");
  row(
      "shm link, 4154-byte frames", [] { return link_rate(kFrame4096); }, kFrame4096 / 1e9, "GB/s");
  row(
      "RC WRITE 64 KiB, path MTU 4096",
      [] { return stream(SendOperation::rdma_write, 65536, 16, 1); }, 65536 / 1e9, "GB/s");
  row(
      "RC READ 64 KiB, path MTU 4096",
      [] { return stream(SendOperation::rdma_read, 65536, 16, 1); }, 65536 / 1e9, "GB/s");
  row(
      "plain ring, 64-byte frames", [] { return ring_rate(kLeastFrame); }, 1e-6, "M/s");
  row(
      "shm link, 64-byte frames", [] { return link_rate(kLeastFrame); }, 1e-6, "M/s");
  row(
      "RC WRITE 8 bytes, one in 64 signaled",
      [] { return stream(SendOperation::rdma_write, 8, 128, 64); }, 1e-6, "M/s");
  row(
      "plain ring, 64-byte round trip", [] { return ring_round_trip(kLeastFrame); }, 1, "us");
  row(
      "shm link, 64-byte round trip", [] { return link_round_trip(kLeastFrame); }, 1, "us");
  row("RC WRITE 8 bytes, half a round trip", write_latency, 1, "us");
  return 0;
}
