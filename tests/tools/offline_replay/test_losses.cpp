// SPDX-License-Identifier: BSD-3-Clause
// Frames lost, doubled and overtaken on either side of the point of capture.
#include <random>

#include "captured_pair.hpp"

using namespace softrnic;
using namespace softrnic::offline_replay;
using namespace softrnic::offline_replay::test;
using transport::SendOperation;

namespace {

constexpr std::uint64_t kSeeds = 150;

// Operations drawn from the seed, several at a time.
std::vector<CapturedFrame> lossy_frames(const PairOptions& options) {
  CapturedPair pair(options);
  std::mt19937_64 random(options.seed);
  constexpr SendOperation kOperations[] = {
      SendOperation::send,       SendOperation::send_with_immediate,
      SendOperation::rdma_write, SendOperation::rdma_write_with_immediate,
      SendOperation::rdma_read,  SendOperation::compare_swap,
      SendOperation::fetch_add};
  for (int burst = 0; burst < 6; ++burst) {
    for (int i = 0; i < 6; ++i) {
      const SendOperation operation = kOperations[random() % std::size(kOperations)];
      const bool atomic =
          operation == SendOperation::compare_swap || operation == SendOperation::fetch_add;
      const bool fetches = atomic || operation == SendOperation::rdma_read;
      // SENDs land in the responder's first half, so that what READs see is told by requests
      // alone. What is fetched lands where nothing is sent from.
      const std::size_t offset = 32768 + 8 * (random() % 2000);
      const std::size_t size = atomic ? 8 : random() % 5000;
      pair.responder().receive(1, 0, 8192);
      pair.requester().send(pair.to_responder(operation, offset), fetches ? 40000 : random() % 100,
                            size);
    }
    pair.settle();
  }
  return pair.frames();
}

void check_all_seeds(PairOptions options) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    options.seed = seed;
    const CaptureReplay replay = replay_capture(lossy_frames(options));
    INFO("seed " << seed << "\n" << explain(replay));
    CHECK(replay.agrees());
    CHECK(compared(replay) > 0);
  }
}

}  // namespace

TEST_CASE("frames that never reach the point of capture", "[replay]") {
  PairOptions options;
  options.faults_at_requester = {"tx drop 6%", "tx duplicate 3%", "tx reorder 4%"};
  SECTION("requests only") {}
  SECTION("answers, too") {
    options.faults_at_responder = {"tx drop 6%", "tx duplicate 3%", "tx reorder 4%"};
  }
  check_all_seeds(options);
}

TEST_CASE("captured frames that do not arrive", "[replay]") {
  PairOptions options;
  SECTION("requests lost behind the point of capture") {
    options.faults_at_responder = {"rx drop 6%"};
  }
  SECTION("answers lost behind it") {
    options.faults_at_requester = {"rx drop 6%"};
  }
  SECTION("both") {
    options.faults_at_responder = {"rx drop 6%"};
    options.faults_at_requester = {"rx drop 6%"};
  }
  check_all_seeds(options);
}

TEST_CASE("a request that a NAK shows to be lost is withheld", "[replay]") {
  PairOptions options;
  options.faults_at_responder = {"rx drop 2nd WRITE MIDDLE"};
  CapturedPair pair(options);
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 6000);
  pair.settle();
  const CaptureReplay replay = replay_capture(pair.frames());
  INFO(explain(replay));
  CHECK(replay.agrees());
  CHECK(replay.results.front().withheld == 1);
  CHECK(replay.results.front().comparison.one_to_one ==
        replay.results.front().conversation->answers.size());
}
