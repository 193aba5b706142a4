// SPDX-License-Identifier: BSD-3-Clause
// Which answers belong to which requests.
#include "captured_pair.hpp"
#include "wire/address_vector.hpp"

using namespace softrnic;
using namespace softrnic::offline_replay;
using namespace softrnic::offline_replay::test;
using transport::SendOperation;

namespace {

constexpr std::size_t kMadSize = 256;
constexpr std::size_t kMadHeader = 24;

// A connection manager message as it stands on QP1.
CapturedFrame connection_message(const wire::Gid& source, const wire::Gid& destination,
                                 std::uint16_t attribute,
                                 const std::function<void(std::byte*)>& fill) {
  wire::TransportHeaders headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.destination_qpn = 1;
  headers.deth.queue_key = 0x80010000;
  headers.deth.source_qpn = 1;
  wire::AddressVector vector;
  vector.source = source;
  vector.destination = destination;
  const std::size_t transport_size = headers.size() + kMadSize + 4;
  CapturedFrame frame;
  frame.bytes.resize(vector.size() + transport_size);
  vector.serialize(frame.bytes, transport_size, 0);
  headers.serialize(wire::ByteSpan(frame.bytes).subspan(vector.size()));
  std::byte* mad = frame.bytes.data() + vector.size() + headers.size();
  wire::store_u8(mad, 1);
  wire::store_u8(mad + 1, 7);
  wire::store_u8(mad + 2, 2);
  wire::store_be16(mad + 16, attribute);
  fill(mad + kMadHeader);
  frame.wire_size = static_cast<std::uint32_t>(frame.bytes.size());
  reseal(frame);
  return frame;
}

}  // namespace

TEST_CASE("a connection's first PSN is taken from its REQ and REP", "[conversation]") {
  CapturedPair pair;
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 3000);
  pair.settle();
  const wire::Gid active = nic::test::gid("10.0.0.1");
  const wire::Gid passive = nic::test::gid("10.0.0.2");
  constexpr std::uint32_t kFirstPsn = 0xfffff0;  // what both ends of the pair begin with
  std::vector<CapturedFrame> frames;
  frames.push_back(connection_message(active, passive, 0x10, [&](std::byte* req) {
    wire::store_be32(req, 0x1111);
    wire::store_be24(req + 32, pair.requester().qpn());
    wire::store_be24(req + 44, 0x123456);
    wire::store_u8(req + 50, 3 << 4);  // path MTU 1024
  }));
  frames.push_back(connection_message(passive, active, 0x13, [&](std::byte* rep) {
    wire::store_be32(rep, 0x2222);
    wire::store_be32(rep + 4, 0x1111);
    wire::store_be24(rep + 12, pair.responder().qpn());
    wire::store_be24(rep + 20, kFirstPsn);
  }));
  frames.insert(frames.end(), pair.frames().begin(), pair.frames().end());
  frames = renumber(frames);

  const FrameSurvey survey = survey_frames(frames);
  REQUIRE(survey.failures.empty());
  const auto setups = connection_setups(survey.packets);
  REQUIRE(setups.size() == 1);
  CHECK(setups[0].active.qpn == pair.requester().qpn());
  CHECK(setups[0].passive.qpn == pair.responder().qpn());
  CHECK(setups[0].path_mtu == 1024);
  const Conversations conversations = find_conversations(survey.packets);
  REQUIRE(conversations.list.size() == 1);
  const Conversation& conversation = conversations.list[0];
  CHECK(conversation.first_psn == wire::Psn(kFirstPsn));
  CHECK(conversation.requester_qpn == pair.requester().qpn());
  CHECK(conversation.answers.size() == 1);

  // Its first request lost, the capture still tells what the responder waits for.
  frames.erase(frames.begin() + 2);
  const CaptureReplay replay = replay_capture(renumber(frames));
  CHECK(replay.results.front().course.stretches.front().expected_psn == wire::Psn(kFirstPsn));
}

TEST_CASE("answers without requests are left over", "[conversation]") {
  CapturedPair pair;
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 100);
  pair.settle();
  auto frames = pair.frames();
  frames.erase(frames.begin());
  const CaptureReplay replay = replay_capture(renumber(frames));
  CHECK(replay.agrees());
  CHECK(replay.results.empty());
  CHECK(replay.conversations.unclaimed.size() == 1);
}

TEST_CASE("the path MTU is told by packets of several, by READs' PSNs, or assumed",
          "[conversation]") {
  PairOptions options;
  std::uint32_t expected = 1024;
  SECTION("a WRITE of several packets") {
    options.path_mtu = expected = 512;
    CapturedPair pair(options);
    pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 1200);
    pair.settle();
    auto frames = pair.frames();
    CHECK(replay_capture(frames).conversations.list[0].path_mtu == expected);
  }
  SECTION("a READ whose responses were not captured") {
    options.path_mtu = expected = 2048;
    CapturedPair pair(options);
    pair.requester().send(pair.to_responder(SendOperation::rdma_read), 0, 12000);
    pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 8);
    pair.settle();
    auto frames = pair.frames();
    std::erase_if(frames, [](const CapturedFrame& frame) {
      return view_of(frame).opcode().operation == wire::Operation::read_response;
    });
    CHECK(replay_capture(renumber(frames)).conversations.list[0].path_mtu == expected);
  }
  SECTION("one small packet") {
    CapturedPair pair(options);
    pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 8);
    pair.settle();
    auto frames = pair.frames();
    const CaptureReplay replay = replay_capture(frames);
    CHECK(replay.conversations.list[0].path_mtu == expected);
    CHECK_FALSE(replay.conversations.list[0].path_mtu_known);
  }
}
