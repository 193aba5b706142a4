// SPDX-License-Identifier: BSD-3-Clause
// What softrnic answered once it answers again, whatever part of it was captured.
#include "captured_pair.hpp"

using namespace softrnic;
using namespace softrnic::offline_replay;
using namespace softrnic::offline_replay::test;
using transport::SendOperation;

namespace {

// Every operation, in sizes around the path MTU.
void converse(CapturedPair& pair, std::uint32_t path_mtu) {
  Endpoint& requester = pair.requester();
  Endpoint& responder = pair.responder();
  const std::size_t sizes[] = {0, 1, 5, path_mtu, path_mtu + 1, 3 * path_mtu - 7};
  for (std::size_t i = 0; i < 24; ++i) responder.receive(i, 0, 1 << 15);
  for (const std::size_t size : sizes) {
    requester.send(pair.to_responder(SendOperation::send), 0, size);
    requester.send(pair.to_responder(SendOperation::send_with_immediate), 0, size);
    requester.send(pair.to_responder(SendOperation::rdma_write, 40000), 100, size);
    requester.send(pair.to_responder(SendOperation::rdma_write_with_immediate, 50000), 200, size);
    requester.send(pair.to_responder(SendOperation::rdma_read, 40000), 30000, size);
    pair.settle();
  }
  requester.send(pair.to_responder(SendOperation::fetch_add, 40000), 0, 8);
  requester.send(pair.to_responder(SendOperation::compare_swap, 40008), 0, 8);
  requester.send(pair.to_responder(SendOperation::rdma_read, 40000), 30000, 16);
  pair.settle();
}

std::vector<CapturedFrame> conversation_frames(const PairOptions& options) {
  CapturedPair pair(options);
  converse(pair, options.path_mtu);
  return pair.frames();
}

}  // namespace

TEST_CASE("every operation is replayed with the same answers", "[replay]") {
  PairOptions options;
  options.path_mtu = GENERATE(256u, 1024u, 4096u);
  SECTION("v2 over IPv4") {}
  SECTION("v2 over IPv6") {
    options.requester = "fd00::1";
    options.responder = "fd00::2";
  }
  SECTION("v1") {
    options.requester = "fd00::1";
    options.responder = "fd00::2";
    options.version = wire::RoceVersion::v1;
  }
  const auto frames = conversation_frames(options);
  const CaptureReplay replay = replay_capture(frames);
  INFO(explain(replay));
  CHECK(replay.agrees());
  CHECK(replay.survey.parsed == frames.size());
  CHECK(replay.survey.reserialised == frames.size());
  REQUIRE(replay.results.size() == 1);
  const ConversationResult& result = replay.results.front();
  CHECK(result.conversation->path_mtu == options.path_mtu);
  CHECK(result.withheld == 0);
  // Every captured answer was met by one of our own.
  CHECK(result.comparison.one_to_one == result.conversation->answers.size());
  CHECK(result.comparison.notes.empty());
}

TEST_CASE("both ends may be requesters of one connection", "[replay]") {
  CapturedPair pair;
  for (std::size_t i = 0; i < 8; ++i) {
    pair.requester().receive(i, 0, 4096);
    pair.responder().receive(i, 0, 4096);
  }
  for (int round = 0; round < 8; ++round) {
    pair.requester().send(pair.to_responder(SendOperation::send), 0, 3000);
    pair.responder().send({}, 0, 2000);
    pair.settle();
  }
  const CaptureReplay replay = replay_capture(pair.frames());
  INFO(explain(replay));
  CHECK(replay.agrees());
  REQUIRE(replay.results.size() == 2);
  CHECK(replay.results[0].conversation->responder_qpn ==
        replay.results[1].conversation->requester_qpn);
  CHECK(compared(replay) == replay.results[0].conversation->answers.size() +
                                replay.results[1].conversation->answers.size());
}

TEST_CASE("many connections that start at one PSN are told apart", "[replay]") {
  CapturedPair pair;
  constexpr std::size_t kConnections = 12;
  for (std::size_t i = 1; i < kConnections; ++i) pair.add_connection();
  for (std::size_t round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < kConnections; ++i) {
      // A WRITE by one connection is READ by the next, so that their memory must be one.
      pair.requester(i).send(pair.to_responder(SendOperation::rdma_write, 8 * i, i), 100 * round,
                             700 * i + round);
      pair.requester(i).send(pair.to_responder(SendOperation::rdma_read, 0, i), 30000, 1500);
    }
    pair.settle();
  }
  const CaptureReplay replay = replay_capture(pair.frames());
  INFO(explain(replay));
  CHECK(replay.agrees());
  REQUIRE(replay.results.size() == kConnections);
  CHECK(replay.conversations.unclaimed.empty());
  for (const ConversationResult& result : replay.results) {
    CHECK(result.comparison.one_to_one == result.conversation->answers.size());
  }
}

TEST_CASE("a capture may begin at any frame", "[replay]") {
  PairOptions options;
  options.path_mtu = 256;
  const auto frames = conversation_frames(options);
  for (std::size_t begin = 0; begin < frames.size(); ++begin) {
    const std::vector<CapturedFrame> late(frames.begin() + static_cast<std::ptrdiff_t>(begin),
                                          frames.end());
    const CaptureReplay replay = replay_capture(renumber(late));
    INFO("begins at frame " << begin + 1 << "\n" << explain(replay));
    CHECK(replay.agrees());
  }
}

TEST_CASE("a capture may end at any frame", "[replay]") {
  PairOptions options;
  options.path_mtu = 256;
  const auto frames = conversation_frames(options);
  for (std::size_t end = 0; end <= frames.size(); ++end) {
    const CaptureReplay replay =
        replay_capture({frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(end)});
    INFO("ends after frame " << end << "\n" << explain(replay));
    CHECK(replay.agrees());
  }
}

TEST_CASE("refusals are replayed", "[replay]") {
  CapturedPair pair;
  Endpoint& requester = pair.requester();
  auto request = pair.to_responder(SendOperation::rdma_write);
  std::size_t size = 100;
  wire::Syndrome expected = wire::Syndrome::nak(wire::NakCode::remote_access_error);
  SECTION("WRITE with a wrong key") {
    request.remote_key ^= 0x5500;
  }
  SECTION("WRITE of several packets with a wrong key") {
    request.remote_key ^= 0x5500;
    size = 5000;
  }
  SECTION("READ with a wrong key") {
    request.operation = SendOperation::rdma_read;
    request.remote_key ^= 0x5500;
  }
  SECTION("atomic with a wrong key") {
    request.operation = SendOperation::fetch_add;
    request.remote_key ^= 0x5500;
    size = 8;
  }
  SECTION("WRITE beyond the region, after one inside") {
    requester.send(request, 0, 100);
    request.remote_address += 65500;
  }
  SECTION("misaligned atomic") {
    request.operation = SendOperation::fetch_add;
    request.remote_address += 3;
    size = 8;
    expected = wire::Syndrome::nak(wire::NakCode::invalid_request);
  }
  SECTION("SEND longer than its receive") {
    request.operation = SendOperation::send;
    size = 2000;
    pair.responder().receive(1, 0, 1500);
    expected = wire::Syndrome::nak(wire::NakCode::invalid_request);
  }
  SECTION("SEND of one packet longer than its receive") {
    request.operation = SendOperation::send;
    pair.responder().receive(1, 0, 50);
    expected = wire::Syndrome::nak(wire::NakCode::invalid_request);
  }
  requester.send(request, 0, size);
  pair.settle();
  find_frame(pair.frames(), wire::Opcode::rc_acknowledge, expected);
  const CaptureReplay replay = replay_capture(pair.frames());
  INFO(explain(replay));
  CHECK(replay.agrees());
  CHECK(replay.results.front().comparison.one_to_one ==
        replay.results.front().conversation->answers.size());
}

TEST_CASE("RNR NAKs are replayed until a receive was posted", "[replay]") {
  CapturedPair pair;
  pair.requester().send(pair.to_responder(SendOperation::send), 0, 3000);
  pair.requester().send(pair.to_responder(SendOperation::rdma_write_with_immediate), 0, 3000);
  pair.pause(std::chrono::milliseconds(5));
  pair.responder().receive(1, 0, 4096);
  pair.pause(std::chrono::milliseconds(5));
  pair.responder().receive(2, 0, 4096);
  pair.settle();
  const CaptureReplay replay = replay_capture(pair.frames());
  INFO(explain(replay));
  CHECK(replay.agrees());
  CHECK(replay.results.front().comparison.one_to_one ==
        replay.results.front().conversation->answers.size());
}

TEST_CASE("a queue pair that never answers is replayed as one that does not exist", "[replay]") {
  CapturedPair pair;
  REQUIRE_FALSE(pair.responder().nic->destroy_queue_pair(pair.responder().qpn()));
  pair.requester().send(pair.to_responder(SendOperation::send), 0, 64);
  pair.settle();
  REQUIRE(pair.frames().size() > 1);
  const CaptureReplay replay = replay_capture(pair.frames());
  CHECK(replay.agrees());
  CHECK(replay.results.front().silent);
  CHECK(replay.results.front().emulated_answers == 0);
}

TEST_CASE("memory that the captured program changed itself is a note", "[replay]") {
  CapturedPair pair;
  pair.requester().receive(1, 0, 64);
  pair.requester().send(pair.to_responder(SendOperation::rdma_read), 0, 3000);
  pair.settle();
  pair.responder().buffer[1234] ^= std::byte{1};
  pair.responder().send({}, 0, 8);  // its program at work
  pair.settle();
  pair.requester().send(pair.to_responder(SendOperation::rdma_read), 0, 3000);
  pair.settle();
  const CaptureReplay replay = replay_capture(pair.frames());
  INFO(explain(replay));
  CHECK(replay.agrees());
  const auto& notes = replay.results.front().comparison.notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().text.find("changed by the captured host's own program") != std::string::npos);
}
