// SPDX-License-Identifier: BSD-3-Clause
// Millions of operations of random kind, size and scatter/gather shape on many RC connections, over
// a link that drops 10 % of the frames, doubles 5 %, reorders 10 % and corrupts 1 %, each way.
//
// Every byte that arrives is compared with what was sent, every completion is expected, in order
// and once, and at the end everything lent has come back. A connection whose retries are exhausted
// is broken off on both sides, flushed, reset and begun anew.
//
//   test_soak --operations N    how many in all (10,000,000 for the whole)
//             --queue-pairs N   connections, 64 by default
//             --seed N          same seed, same run (without --threads)
//             --threads         each NIC in a thread of its own, in real time
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "link/memory_link.hpp"
#include "soak/host.hpp"
#include "soak/threaded_wire.hpp"

namespace softrnic::soak {

namespace {

constexpr std::uint32_t kMtu = 9000;
constexpr std::size_t kRing = 4096;
// In real time a long ring of a slow machine holds frames for longer than a timer runs.
constexpr std::size_t kThreadedRing = 256;
constexpr wire::Duration kTick = std::chrono::microseconds(1);
// Virtual time without a single completion after which a run is taken to stand still: every timer
// is shorter by far.
constexpr wire::Duration kStandstill = std::chrono::seconds(600);

struct Options {
  std::uint64_t operations = 0;
  std::uint32_t queue_pairs = 0;
  std::uint64_t seed = 0;
  bool threads = false;
};

// Of all frames 1 % are corrupted, 10 % dropped, 5 % doubled, 10 % reordered; each rule draws from
// those that the earlier ones left.
std::vector<fabric::FaultRule> fault_rules() {
  std::vector<fabric::FaultRule> rules;
  for (const char* text : {"tx corrupt payload 0.25%", "tx corrupt icrc 0.25%",
                           "tx corrupt psn 0.25%", "tx corrupt destination_qpn 0.25%",
                           "tx drop 10.1%", "tx duplicate 5.62%", "tx reorder 3 11.9%"}) {
    rules.push_back(fabric::FaultRule::parse(text).value());
  }
  return rules;
}

ConnectionTerms draw_terms(std::uint64_t seed, std::uint64_t operations, bool real_time) {
  property::Random random(seed);
  ConnectionTerms terms;
  terms.seed = random.next() >> 8;
  terms.version = random.chance(30) ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  terms.ipv6 = random.chance(40);
  terms.path_mtu = random.pick({256u, 512u, 1024u, 1024u, 2048u, 4096u});
  terms.timeout = real_time ? 14 : random.pick<std::uint8_t>({6, 8, 10});
  terms.rnr_timer = random.pick<std::uint8_t>({1, 3, 8});
  for (std::size_t i = 0; i < 2; ++i) {
    terms.depths[i] = random.pick({1u, 4u, 16u, 32u});
    terms.max_rd_atomic[i] = random.pick<std::uint8_t>({1, 2, 4, 16});
  }
  terms.operations = {operations / 2, operations - operations / 2};
  terms.selective_repeat = random.chance(50);
  terms.advertise_credits = random.chance(50);
  terms.diligence = random.pick({100u, 100u, 20u, 3u});
  return terms;
}

class Soak {
 public:
  explicit Soak(const Options& options) : options_(options), noise_(options.seed) {}

  int run() {
    build();
    if (failure_.empty()) options_.threads ? run_threads() : run_virtual();
    end();
    if (!failure_.empty()) {
      fmt::print("{}\nagain: test_soak --operations {} --queue-pairs {} --seed {}{}\n", failure_,
                 options_.operations, options_.queue_pairs, options_.seed,
                 options_.threads ? " --threads" : "");
      return 1;
    }
    fmt::print(
        "{} operations on {} connections: {} packets, {} faults, {} retransmitted, {} "
        "timeouts, {} RNR waits, {} times begun anew; nothing wrong\n",
        succeeded_, options_.queue_pairs, packets_, faults_, retransmitted_, timeouts_, rnr_waits_,
        epochs_);
    return 0;
  }

 private:
  void build() {
    std::array<std::unique_ptr<link::Link>, 2> ports;
    if (options_.threads) {
      auto [a, b] = make_threaded_wire(kMtu, kThreadedRing);
      threaded_ports_ = {a.get(), b.get()};
      ports = {std::move(a), std::move(b)};
    } else {
      wire_.emplace(kMtu, kRing);
      ports = {wire_->attach("port0"), wire_->attach("port1")};
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      hosts_[i] = std::make_unique<Host>(i, options_.seed, std::move(ports[i]), fault_rules());
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (const auto& entry : hosts_[1 - i]->nic().gids().entries()) {
        hosts_[i]->nic().add_neighbor(entry.gid, hosts_[1 - i]->nic().mac());
      }
    }
    for (std::uint32_t i = 0; i < options_.queue_pairs; ++i) {
      const std::uint64_t share = options_.operations / options_.queue_pairs +
                                  (i < options_.operations % options_.queue_pairs ? 1 : 0);
      terms_.push_back(std::make_unique<ConnectionTerms>(
          draw_terms(options_.seed * 1000 + i, share, options_.threads)));
      rendezvous_.push_back(std::make_unique<Rendezvous>());
      for (const auto& host : hosts_) host->add(noise_, *terms_.back(), *rendezvous_.back());
    }
    note_failure();
  }

  void run_virtual() {
    wire::Instant now{};
    wire::Instant moved_at{};
    std::uint64_t moved_to = 0;
    for (std::uint64_t round = 0; failure_.empty(); ++round) {
      bool busy = hosts_[0]->step(now);
      busy = hosts_[1]->step(now) || busy;
      wire::Instant next = now + kTick;
      if (!busy) {
        // Users take a step every 50 us even when nothing arrives.
        next = std::min(
            {hosts_[0]->nic().next_deadline(), hosts_[1]->nic().next_deadline(), now + 50 * kTick});
      }
      now = std::max(now + wire::Duration(1), next);
      if (round % 1024 != 0) continue;
      note_failure();
      const std::uint64_t succeeded = hosts_[0]->succeeded() + hosts_[1]->succeeded();
      if (succeeded != moved_to) moved_at = now, moved_to = succeeded;
      if (now - moved_at > kStandstill) {
        failure_ =
            "nothing moves any more:" + hosts_[0]->what_is_left() + hosts_[1]->what_is_left();
      }
      show_progress(succeeded);
      if (hosts_[0]->done() && hosts_[1]->done()) break;
    }
  }

  void run_threads() {
    std::array<std::atomic<bool>, 2> done{};
    std::atomic<bool> failed{false};
    const auto turn = [&](std::size_t i) {
      Host& host = *hosts_[i];
      while (!(done[0] && done[1]) && !failed) {
        const wire::Instant now(std::chrono::duration_cast<wire::Duration>(
            std::chrono::steady_clock::now().time_since_epoch()));
        const bool busy = host.step(now);
        done[i] = host.done();
        if (!host.failure().empty()) failed = true;
        if (!busy) threaded_ports_[i]->wait(50 * kTick);
      }
    };
    std::thread other(turn, 1);
    turn(0);
    other.join();
    note_failure();
  }

  void note_failure() {
    for (const auto& host : hosts_) {
      if (failure_.empty()) failure_ = host->failure();
    }
  }

  void end() {
    for (const auto& host : hosts_) host->poll();
    note_failure();
    for (std::size_t i = 0; i < 2; ++i) {
      const transport::Counters& counters = hosts_[i]->nic().counters();
      packets_ += counters.sent_pkts;
      retransmitted_ += counters.retransmitted_pkts;
      timeouts_ += counters.local_ack_timeout_err;
      rnr_waits_ += counters.rnr_nak_retry_err;
      succeeded_ += hosts_[i]->succeeded();
      epochs_ += hosts_[i]->epochs();
    }
    for (std::uint32_t c = 0; c < options_.queue_pairs && failure_.empty(); ++c) {
      for (std::size_t i = 0; i < 2; ++i) {
        hosts_[i]->endpoint(c).finish(hosts_[1 - i]->endpoint(c));
      }
      note_failure();
    }
    for (const auto& host : hosts_) {
      if (failure_.empty()) failure_ = host->take_down();
      faults_ += host->faults();
    }
  }

  void show_progress(std::uint64_t succeeded) const {
    if (isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r{:3} %", 100 * succeeded / options_.operations);
    if (succeeded == options_.operations) fmt::print(stderr, "\r     \r");
  }

  Options options_;
  Noise noise_;
  std::string failure_;
  std::optional<link::MemoryWire> wire_;
  std::array<ThreadedPort*, 2> threaded_ports_{};
  std::vector<std::unique_ptr<ConnectionTerms>> terms_;
  std::vector<std::unique_ptr<Rendezvous>> rendezvous_;
  std::array<std::unique_ptr<Host>, 2> hosts_;
  std::uint64_t succeeded_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t retransmitted_ = 0;
  std::uint64_t timeouts_ = 0;
  std::uint64_t rnr_waits_ = 0;
  std::uint64_t epochs_ = 0;
};

int soak(int argc, char** argv) {
  namespace po = boost::program_options;
  Options options;
  po::options_description all("test_soak");
  all.add_options()("help", "this text")(
      "operations", po::value(&options.operations)->default_value(200'000), "how many in all")(
      "queue-pairs", po::value(&options.queue_pairs)->default_value(64), "connections")(
      "seed", po::value(&options.seed)->default_value(std::random_device{}()), "of everything")(
      "threads", po::bool_switch(&options.threads), "each NIC in a thread of its own");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, all), values);
  po::notify(values);
  if (values.count("help") != 0) {
    std::cout << all;
    return 0;
  }
  if (options.operations == 0 || options.queue_pairs == 0 || options.queue_pairs > 1024) {
    fmt::print(stderr, "test_soak: at least one operation, and 1 to 1024 queue pairs\n");
    return 2;
  }
  fmt::print("seed {}\n", options.seed);
  return Soak(options).run();
}

}  // namespace

}  // namespace softrnic::soak

int main(int argc, char** argv) {
  try {
    return softrnic::soak::soak(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "test_soak: {}\n", error.what());
    return 2;
  }
}
