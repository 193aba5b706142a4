// SPDX-License-Identifier: BSD-3-Clause
// Peers that cannot be reached, or never have a receive: the right error within the standard's
// bounds, and the rest flushed in order.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "property/case_net.hpp"
#include "property/cases.hpp"
#include "property/random.hpp"
#include "property/reliable_run.hpp"

namespace softrnic::property {

namespace {

using transport::Completion;
using transport::CompletionStatus;
using transport::QueuePairState;
using transport::SendOperation;

// Requests from NIC 0 to a queue pair of NIC 1, without memory: every request is empty.
class Pair {
 public:
  Pair(const Plan& plan, std::uint32_t requests) : net_(plan, std::string()) {
    const Ends ends = net_.create_pair(plan.connections[0]);
    qpns_ = ends.senders;
    net_.connect_pair(plan.connections[0], ends);
    REQUIRE(net_.failure().empty());
    for (std::uint32_t id = 0; id < requests; ++id) post(id);
  }

  CaseNet& net() { return net_; }
  std::uint32_t peer_qpn() const { return qpns_[1]; }

  void post(std::uint64_t id) {
    transport::SendRequest request;
    request.id = id;
    REQUIRE_FALSE(net_.nic(0).post_send(qpns_[0], request).has_value());
  }

  // Runs to rest; the send completions, and when each was there.
  struct Seen {
    Completion completion;
    wire::Instant at{};
  };
  std::vector<Seen> run() {
    std::vector<Seen> seen;
    for (int steps = 0; steps < 1'000'000 && net_.net().step(); ++steps) {
      Completion completion;
      while (net_.send_completions(0).poll({&completion, 1}) == 1) {
        seen.push_back({completion, net_.net().now()});
      }
    }
    return seen;
  }

  // The first ends in `status`, the others are flushed, in order.
  void check_ending(const std::vector<Seen>& seen, std::size_t requests, CompletionStatus status) {
    REQUIRE(seen.size() == requests);
    for (std::size_t i = 0; i < requests; ++i) {
      CHECK(seen[i].completion.id == i);
      CHECK(seen[i].completion.status ==
            (i == 0 ? status : CompletionStatus::work_request_flushed));
    }
    CHECK(net_.nic(0).find_queue_pair(qpns_[0])->state() == QueuePairState::error);
    CHECK(net_.net().next_deadline() == wire::kNever);
  }

  void take_down() {
    REQUIRE_FALSE(net_.nic(0).destroy_queue_pair(qpns_[0]).has_value());
    if (net_.nic(1).find_queue_pair(qpns_[1]) != nullptr) {
      REQUIRE_FALSE(net_.nic(1).destroy_queue_pair(qpns_[1]).has_value());
    }
    CHECK(net_.take_down() == "");
  }

 private:
  CaseNet net_;
  std::array<std::uint32_t, 2> qpns_{};
};

Plan two_nics(std::uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  Connection connection;
  connection.version = random.chance(30) ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  connection.ipv6 = random.chance(40);
  connection.timeout = static_cast<std::uint8_t>(random.between(1, 16));
  connection.retry_count = static_cast<std::uint8_t>(random.between(0, 7));
  connection.rnr_timer = static_cast<std::uint8_t>(random.between(0, 31));
  connection.rnr_retry = static_cast<std::uint8_t>(random.between(0, 6));
  connection.sides[0].send_depth = 32;
  connection.sides[0].first_psn = 0xffffff - random.between(0, 20);
  connection.sides[1].nic = 1;
  plan.connections.push_back(connection);
  return plan;
}

}  // namespace

TEST_CASE("RC: when a NIC is cut off its connections give up in time, and no others do") {
  std::uint64_t cases = 0;
  std::uint64_t given_up = 0;
  for_each_seed(3000, [&](std::uint64_t seed) {
    const Plan plan = make_plan(seed, Kind::severed);
    const Outcome outcome = run_reliable(plan);
    if (!outcome.failure.empty()) {
      FAIL(report(plan, outcome.failure,
                  [](const Plan& each) { return run_reliable(each).failure; }));
    }
    ++cases;
    given_up += outcome.exhausted;
  });
  WARN(fmt::format("{} cases, {} connections gave up", cases, given_up));
  if (cases >= 100) CHECK(given_up > cases / 5);
}

TEST_CASE("RC: a queue pair that is gone, in RESET or in ERR answers nothing") {
  for_each_seed(300, [](std::uint64_t seed) {
    INFO("--seed " << seed);
    const Plan plan = two_nics(seed);
    const Connection& connection = plan.connections[0];
    const std::size_t requests = 1 + seed % 20;
    Pair pair(plan, static_cast<std::uint32_t>(requests));
    nic::Nic& peer = pair.net().nic(1);
    const transport::QueuePairAttributes attributes;
    switch (seed % 3) {
      case 0:
        REQUIRE_FALSE(peer.destroy_queue_pair(pair.peer_qpn()).has_value());
        break;
      case 1:
        REQUIRE_FALSE(peer.modify(pair.peer_qpn(), QueuePairState::reset, attributes).has_value());
        break;
      default:
        REQUIRE_FALSE(peer.modify(pair.peer_qpn(), QueuePairState::error, attributes).has_value());
    }
    const auto seen = pair.run();
    pair.check_ending(seen, requests, CompletionStatus::retry_exceeded);
    const auto timeout = std::chrono::nanoseconds(4096) * (std::int64_t{1} << connection.timeout);
    const auto took = seen.front().at.time_since_epoch();
    CHECK(took >= (connection.retry_count + 1) * timeout);
    CHECK(took <= 4 * (connection.retry_count + 1) * timeout + 100 * pair.net().net().tick());
    CHECK(pair.net().nic(1).counters().sent_pkts == 0);
    pair.take_down();
  });
}

TEST_CASE("RC: a peer that never posts a receive ends in RNR retry exceeded, in time") {
  for_each_seed(300, [](std::uint64_t seed) {
    INFO("--seed " << seed);
    const Plan plan = two_nics(seed);
    const Connection& connection = plan.connections[0];
    const std::size_t requests = 1 + seed % 20;
    Pair pair(plan, static_cast<std::uint32_t>(requests));
    const auto seen = pair.run();
    pair.check_ending(seen, requests, CompletionStatus::rnr_retry_exceeded);
    const auto wait = wire::rnr_timer(connection.rnr_timer);
    const auto took = seen.front().at.time_since_epoch();
    CHECK(took >= connection.rnr_retry * wait);
    CHECK(took <= 2 * connection.rnr_retry * wait + 500 * pair.net().net().tick());
    // One RNR NAK for each try.
    CHECK(pair.net().nic(1).counters().send_rnr_err == connection.rnr_retry + 1u);
    pair.take_down();
  });
}

}  // namespace softrnic::property
