// SPDX-License-Identifier: BSD-3-Clause
// The numbers of generated captures beside those of a recomputation that knows nothing of the
// analysis: it counts what it sees and looks each answer's PSN up.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <map>

#include "explained_talk.hpp"
#include "generated_capture.hpp"

using namespace softrnic;
using namespace softrnic::explain;
using namespace softrnic::explain::test;

namespace {

struct Recomputed {
  std::uint64_t packets = 0;
  std::uint64_t payload = 0;
  std::uint64_t messages = 0;
  std::vector<std::uint64_t> latencies;
};

// Of captures in which all packets are there: a message is open from the packet that begins it to
// an answer to its last PSN, or a later one.
class Recomputation {
 public:
  void on_frame(const Frame& frame) {
    const bool request = !frame.opcode->is_response();
    const std::uint32_t qpn = frame.headers.bth.destination_qpn;
    const std::uint32_t index = qpn - (request ? 0x200000 : 0x100000);
    Recomputed& r = result[index];
    ++r.packets;
    r.payload += frame.payload_size;
    auto& open = open_[index];
    const std::uint32_t psn = frame.headers.bth.psn.value();
    if (request) {
      if (frame.opcode->starts_message()) {
        ++r.messages;
        open.push_back({psn, frame.time});
      }
      if (!open.empty()) open.back().last = psn;
      return;
    }
    while (!open.empty() && !wire::Psn(open.front().last).after(wire::Psn(psn))) {
      r.latencies.push_back(static_cast<std::uint64_t>((frame.time - open.front().at).count()));
      open.erase(open.begin());
    }
  }

  std::map<std::uint32_t, Recomputed> result;

 private:
  struct Open {
    std::uint32_t last = 0;
    wire::Instant at;
  };
  std::map<std::uint32_t, std::vector<Open>> open_;
};

}  // namespace

TEST_CASE("of captures without loss the figures are those of a simple recomputation") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    softrnic::test::GeneratedCaptureOptions options;
    options.seed = seed;
    options.connections = static_cast<std::uint32_t>(1 + seed * 3);
    softrnic::test::GeneratedCapture capture(options);
    Explanation explanation;
    Recomputation wanted;
    for (int i = 0; i < 20'000; ++i) {
      const Frame& frame = capture.next();
      explanation.on_packet(reading_of(frame), ConnectionAccount::kNoVlan);
      wanted.on_frame(frame);
    }
    explanation.finish();
    CHECK(explanation.faults() == 0);
    std::uint32_t compared = 0;
    for (const std::uint32_t i : explanation.connections()) {
      const analysis::Stream& stream = explanation.stream(i);
      const ConnectionAccount& account = explanation.account(i);
      const std::uint32_t index = stream.sides[1].qpn - 0x200000;
      const bool writes = index % 5 == 1;  // an ACK may come before the last packet of one was sent
      const Recomputed& w = wanted.result.at(index);
      CHECK(stream.sides[0].packets + stream.sides[1].packets == w.packets);
      CHECK(account.payload_bytes[0] + account.payload_bytes[1] == w.payload);
      REQUIRE(std::distance(account.operations.begin(), account.operations.end()) == 1);
      const OperationAccount& operation = account.operations.front();
      CHECK(operation.messages == w.messages);
      CHECK(operation.refused() + operation.partial() == 0);
      if (writes) continue;
      ++compared;
      CHECK(operation.completed() == w.latencies.size());
      CHECK(operation.unanswered() == w.messages - w.latencies.size());
      REQUIRE(!w.latencies.empty());
      std::vector<std::uint64_t> sorted = w.latencies;
      std::sort(sorted.begin(), sorted.end());
      CHECK(operation.latency.min() == sorted.front());
      CHECK(operation.latency.max() == sorted.back());
      const double median = static_cast<double>(sorted[(sorted.size() + 1) / 2 - 1]);
      const double told = static_cast<double>(operation.latency.quantile(0.5));
      CHECK(std::abs(told - median) <= median * operation.latency.error() + 0.5);
    }
    CHECK(compared > 0);
  }
}

TEST_CASE("of captures with loss nothing is counted twice or left out") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    softrnic::test::GeneratedCaptureOptions options;
    options.seed = seed;
    options.connections = 10;
    options.loss = 20;
    options.duplicated = 5;
    options.bad_icrc = 5;
    softrnic::test::GeneratedCapture capture(options);
    struct Count final : Listener {
      void on_packet(const SeenPacket& packet) override {
        ++packets;
        again += packet.record.repetition != 0;
      }
      void on_message(const analysis::Message&, const analysis::Stream&) override { ++messages; }
      void on_loss(const Loss& loss, const analysis::Stream&) override {
        ++losses;
        sent_again += loss.packets_again;
        in_order = in_order && loss.lost_at <= loss.asked_at && loss.asked_at <= loss.again_at &&
                   loss.again_at <= loss.last_round_at && loss.again_frame <= loss.last_frame;
      }
      std::uint64_t packets = 0, again = 0, messages = 0, losses = 0, sent_again = 0;
      bool in_order = true;
    } count;
    Explanation explanation;
    explanation.add_listener(count);
    for (int i = 0; i < 20'000; ++i) {
      explanation.on_packet(reading_of(capture.next()), ConnectionAccount::kNoVlan);
    }
    explanation.finish();
    CHECK(count.packets == 20'000);
    CHECK(count.messages == explanation.message_count());
    CHECK(count.losses == explanation.loss_count());
    CHECK(count.losses > 0);
    CHECK(count.in_order);
    std::uint64_t messages = 0, losses = 0, again = 0, by_cause = 0;
    for (const std::uint32_t i : explanation.connections()) {
      const ConnectionAccount& account = explanation.account(i);
      for (const OperationAccount& one : account.operations) {
        messages += one.messages;
        CHECK(one.latency.samples() == one.completed());
      }
      again += account.retransmitted[0] + account.retransmitted[1];
      if (account.losses == nullptr) continue;
      losses += account.losses->losses;
      for (const std::uint64_t n : account.losses->by_cause) by_cause += n;
    }
    CHECK(messages == count.messages);
    CHECK(losses == count.losses);
    CHECK(by_cause == losses);
    CHECK(again == count.again);
  }
}
