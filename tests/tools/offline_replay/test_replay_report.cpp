// SPDX-License-Identifier: BSD-3-Clause
// What people and programs get to read.
#include <nlohmann/json.hpp>

#include "captured_pair.hpp"
#include "offline_replay/replay_report.hpp"

using namespace softrnic;
using namespace softrnic::offline_replay;
using namespace softrnic::offline_replay::test;
using transport::SendOperation;

namespace {

std::vector<CapturedFrame> writes(std::size_t count) {
  CapturedPair pair;
  for (std::size_t i = 0; i < count; ++i) {
    pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 8);
    pair.settle();
  }
  return pair.frames();
}

// Each acknowledgement from the second on with an MSN one too high, as one kind of fault would be.
std::vector<CapturedFrame> wrong_writes(std::size_t count) {
  auto frames = writes(count);
  bool first = true;
  for (CapturedFrame& frame : frames) {
    const wire::PacketView view = view_of(frame);
    if (!view.opcode().is_response()) continue;
    if (!first) frame.bytes[view.bth_offset() + wire::Bth::kSize + 3] ^= std::byte{0x40};
    first = false;
    reseal(frame);
  }
  return frames;
}

}  // namespace

TEST_CASE("the text names the conversation and its verdict", "[replay_report]") {
  const CaptureReplay replay = replay_capture(writes(3));
  const std::string text = text_report(replay, "some.pcap", false);
  INFO(text);
  CHECK(text.find("some.pcap: 6 frames, 6 of them RoCE: 6 parsed, 6 written anew") == 0);
  CHECK(text.find("10.0.0.1 QP 0x000011 -> 10.0.0.2 QP 0x000011: 3 requests, 3 answers: agrees") !=
        std::string::npos);
  CHECK(text.find("1 of 1 conversations agree\n") != std::string::npos);
}

TEST_CASE("the text shows the first differences, all when asked", "[replay_report]") {
  const CaptureReplay replay = replay_capture(wrong_writes(4));
  INFO(text_report(replay, "x", true));
  REQUIRE(replay.results.size() == 1);
  const std::size_t count = replay.results[0].comparison.differences.size();
  REQUIRE(count >= 1);
  const std::string text = text_report(replay, "x", false);
  const std::string first =
      fmt::format("  frame {}: captured: ", replay.results[0].comparison.differences.front().frame);
  CHECK(text.find(first) != std::string::npos);
  CHECK(text.find("softrnic: ACK, PSN ") != std::string::npos);
  CHECK(text.find("1 of 1 conversations differ\n") != std::string::npos);
}

TEST_CASE("JSON has what the text has", "[replay_report]") {
  const CaptureReplay replay = replay_capture(wrong_writes(4));
  const auto json = nlohmann::json::parse(json_report(replay, "x\xff.pcap"));
  CHECK(json["agrees"] == false);
  CHECK(json["frames"]["parsed"] == 8);
  CHECK(json["frames"]["reserialised"] == 8);
  REQUIRE(json["conversations"].size() == 1);
  const auto& conversation = json["conversations"][0];
  CHECK(conversation["requester"]["address"] == "10.0.0.1");
  CHECK(conversation["requester"]["qpn"] == 0x11);
  CHECK(conversation["requests"] == 4);
  CHECK(conversation["captured_answers"] == 4);
  REQUIRE_FALSE(conversation["differences"].empty());
  for (const char* key : {"frame", "captured", "softrnic", "rule"}) {
    CHECK(conversation["differences"][0].contains(key));
  }
}

TEST_CASE("a capture without reliable connections says so and agrees", "[replay_report]") {
  const CaptureReplay replay = replay_capture({});
  CHECK(replay.agrees());
  CHECK(text_report(replay, "x", false).find("nothing to replay") != std::string::npos);
  CHECK(nlohmann::json::parse(json_report(replay, "x"))["agrees"] == true);
}
