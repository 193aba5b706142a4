// SPDX-License-Identifier: BSD-3-Clause
// Captures that were changed on purpose: the change is found, and found where it is.
#include "captured_pair.hpp"

using namespace softrnic;
using namespace softrnic::offline_replay;
using namespace softrnic::offline_replay::test;
using transport::SendOperation;

namespace {

// WRITE, READ of what was written, atomic, WRITE, each waiting for the one before.
std::vector<CapturedFrame> plain_frames() {
  CapturedPair pair;
  for (const auto& [operation, size] : {std::pair{SendOperation::rdma_write, 3000},
                                        {SendOperation::rdma_read, 3000},
                                        {SendOperation::fetch_add, 8},
                                        {SendOperation::rdma_write, 10},
                                        {SendOperation::rdma_write, 20}}) {
    pair.requester().send(pair.to_responder(operation), 0, static_cast<std::size_t>(size));
    pair.settle();
  }
  return pair.frames();
}

std::size_t transport_offset(const CapturedFrame& frame) {
  return view_of(frame).bth_offset();
}

// The one difference, which must concern this frame.
Difference only_difference(const std::vector<CapturedFrame>& frames, std::uint32_t frame) {
  const CaptureReplay replay = replay_capture(frames);
  INFO(explain(replay));
  CHECK_FALSE(replay.agrees());
  REQUIRE(differences(replay) == 1);
  const Difference& difference = replay.results.front().comparison.differences.front();
  CHECK(difference.frame == frame);
  CHECK_FALSE(difference.rule.empty());
  return difference;
}

}  // namespace

TEST_CASE("a changed MSN is a difference", "[replay]") {
  auto frames = plain_frames();
  const std::size_t ack = find_frame(frames, wire::Opcode::rc_acknowledge, {},
                                     find_frame(frames, wire::Opcode::rc_atomic_acknowledge));
  frames[ack].bytes[transport_offset(frames[ack]) + wire::Bth::kSize + 3] ^= std::byte{4};
  reseal(frames[ack]);
  const Difference difference = only_difference(frames, frames[ack].number);
  CHECK(difference.captured.find("MSN 0") != std::string::npos);
  CHECK(difference.emulated.find("MSN 4") != std::string::npos);
}

TEST_CASE("a changed payload byte of a READ response is a difference", "[replay]") {
  auto frames = plain_frames();
  const std::size_t middle = find_frame(frames, wire::Opcode::rc_read_response_middle);
  frames[middle].bytes[view_of(frames[middle]).payload_offset() + 100] ^= std::byte{0x80};
  reseal(frames[middle]);
  const Difference difference = only_difference(frames, frames[middle].number);
  CHECK(difference.captured.find("byte 100") != std::string::npos);
}

TEST_CASE("a changed atomic original is a difference", "[replay]") {
  auto frames = plain_frames();
  const std::size_t atomic = find_frame(frames, wire::Opcode::rc_atomic_acknowledge);
  frames[atomic].bytes[view_of(frames[atomic]).payload_offset() - 1] ^= std::byte{1};
  reseal(frames[atomic]);
  only_difference(frames, frames[atomic].number);
}

TEST_CASE("an acknowledgement turned into a NAK is a difference", "[replay]") {
  auto frames = plain_frames();
  const std::size_t ack = find_frame(frames, wire::Opcode::rc_acknowledge);
  frames[ack].bytes[transport_offset(frames[ack]) + wire::Bth::kSize] = std::byte{0x60};
  reseal(frames[ack]);
  only_difference(frames, frames[ack].number);
}

TEST_CASE("a changed NAK code is a difference", "[replay]") {
  CapturedPair pair;
  auto request = pair.to_responder(SendOperation::rdma_write);
  pair.requester().send(request, 0, 100);
  request.remote_key ^= 0x5500;
  pair.requester().send(request, 0, 100);
  pair.settle();
  auto frames = pair.frames();
  const auto nak = find_frame(frames, wire::Opcode::rc_acknowledge,
                              wire::Syndrome::nak(wire::NakCode::remote_access_error));
  frames[nak].bytes[transport_offset(frames[nak]) + wire::Bth::kSize] = std::byte{0x63};
  reseal(frames[nak]);
  only_difference(frames, frames[nak].number);
}

TEST_CASE("a READ response that is missing is a difference", "[replay]") {
  auto frames = plain_frames();
  const std::size_t middle = find_frame(frames, wire::Opcode::rc_read_response_middle);
  frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(middle));
  frames = renumber(frames);
  only_difference(frames, frames[find_frame(frames, wire::Opcode::rc_read_request)].number);
}

TEST_CASE("a missing NAK that the requester obeyed is a difference", "[replay]") {
  PairOptions options;
  options.faults_at_requester = {"tx drop 2nd WRITE MIDDLE"};
  CapturedPair pair(options);
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 100);
  pair.settle();
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 6000);
  pair.settle();
  auto frames = pair.frames();
  const auto nak = find_frame(frames, wire::Opcode::rc_acknowledge,
                              wire::Syndrome::nak(wire::NakCode::psn_sequence_error));
  REQUIRE(replay_capture(frames).agrees());
  frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(nak));
  const CaptureReplay replay = replay_capture(renumber(frames));
  INFO(explain(replay));
  CHECK_FALSE(replay.agrees());
  REQUIRE(differences(replay) == 1);
  CHECK(replay.results.front().comparison.differences.front().captured == "nothing");
}

TEST_CASE("a frame with a wrong ICRC is reported", "[replay]") {
  auto frames = plain_frames();
  const std::size_t middle = find_frame(frames, wire::Opcode::rc_read_response_middle);
  frames[middle].bytes[view_of(frames[middle]).payload_offset()] ^= std::byte{1};
  const CaptureReplay replay = replay_capture(frames);
  CHECK_FALSE(replay.agrees());
  CHECK(replay.survey.parsed == replay.survey.reserialised + 1);
  REQUIRE(replay.survey.failures.size() == 1);
  CHECK(replay.survey.failures.front().frame == frames[middle].number);
  CHECK(differences(replay) == 0);
}

namespace {

// The one deviation seen where all agrees.
DeviationSeen only_deviation(const std::vector<CapturedFrame>& frames) {
  const CaptureReplay replay = replay_capture(frames);
  INFO(explain(replay));
  CHECK(replay.agrees());
  const auto& deviations = replay.results.front().comparison.deviations;
  REQUIRE(deviations.size() == 1);
  return deviations.front();
}

}  // namespace

TEST_CASE("known deviation: a SEND too long refused with NAK 0x63", "[replay]") {
  CapturedPair pair;
  pair.responder().receive(1, 0, 100);
  pair.requester().send(pair.to_responder(SendOperation::send), 0, 2000);
  pair.settle();
  auto frames = pair.frames();
  const auto nak = find_frame(frames, wire::Opcode::rc_acknowledge,
                              wire::Syndrome::nak(wire::NakCode::invalid_request));
  frames[nak].bytes[transport_offset(frames[nak]) + wire::Bth::kSize] = std::byte{0x63};
  reseal(frames[nak]);
  const DeviationSeen seen = only_deviation(frames);
  CHECK(seen.deviation->id == "send-too-long-0x63");
  CHECK(seen.frame == frames[nak].number);
}

TEST_CASE("known deviation: a sequence NAK behind an RNR NAK", "[replay]") {
  CapturedPair pair;
  pair.requester().send(pair.to_responder(SendOperation::send), 0, 3000);
  pair.pause(std::chrono::microseconds(1));
  pair.responder().receive(1, 0, 4096);
  pair.settle();
  auto frames = pair.frames();
  const auto rnr = find_frame(frames, wire::Opcode::rc_acknowledge, wire::Syndrome::rnr_nak(12));
  CapturedFrame extra = frames[rnr];
  extra.bytes[transport_offset(extra) + wire::Bth::kSize] = std::byte{0x60};
  reseal(extra);
  frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(rnr) + 1, extra);
  const DeviationSeen seen = only_deviation(renumber(frames));
  CHECK(seen.deviation->id == "sequence-nak-after-rnr");
  CHECK(seen.count == 1);
}

TEST_CASE("known deviation: a repeated READ answered from Middle on", "[replay]") {
  PairOptions options;
  options.faults_at_responder = {"tx drop 2nd READ RESPONSE"};
  CapturedPair pair(options);
  pair.requester().send(pair.to_responder(SendOperation::rdma_read), 0, 5000);
  pair.settle();
  auto frames = pair.frames();
  // The READ for the rest, and the response to it.
  const auto again = find_frame(frames, wire::Opcode::rc_read_request, {},
                                find_frame(frames, wire::Opcode::rc_read_request) + 1);
  const auto first = find_frame(frames, wire::Opcode::rc_read_response_first, {}, again);
  REQUIRE(replay_capture(frames).agrees());
  // A Middle has no AETH.
  CapturedFrame& frame = frames[first];
  const wire::PacketView view = view_of(frame);
  const std::size_t aeth = view.bth_offset() + wire::Bth::kSize;
  wire::TransportHeaders headers = view.headers();
  headers.bth.opcode = wire::Opcode::rc_read_response_middle;
  wire::Ipv4Header ip = view.ipv4();
  wire::UdpHeader udp = view.udp();
  const std::size_t network = view.network_offset();
  frame.bytes.erase(frame.bytes.begin() + static_cast<std::ptrdiff_t>(aeth),
                    frame.bytes.begin() + static_cast<std::ptrdiff_t>(aeth + wire::Aeth::kSize));
  frame.wire_size = static_cast<std::uint32_t>(frame.bytes.size());
  ip.total_length = static_cast<std::uint16_t>(ip.total_length - wire::Aeth::kSize);
  ip.checksum = ip.computed_checksum();
  udp.length = static_cast<std::uint16_t>(udp.length - wire::Aeth::kSize);
  ip.serialize(std::span<std::byte, wire::Ipv4Header::kSize>(frame.bytes.data() + network,
                                                             wire::Ipv4Header::kSize));
  udp.serialize(std::span<std::byte, wire::UdpHeader::kSize>(
      frame.bytes.data() + network + wire::Ipv4Header::kSize, wire::UdpHeader::kSize));
  headers.serialize(wire::ByteSpan(frame.bytes).subspan(aeth - wire::Bth::kSize));
  reseal(frame);
  const DeviationSeen seen = only_deviation(frames);
  CHECK(seen.deviation->id == "read-retry-middle");
  CHECK(seen.frame == frame.number);
}
