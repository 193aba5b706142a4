// SPDX-License-Identifier: BSD-3-Clause
// The analyzer on any sequence of frames.
//
// The input is a sequence of records of twelve bytes, each a frame between two hosts with few queue
// pairs and PSNs near a base that records move, so that frames have to do with each other. Checked:
// what is said of a frame names only frames seen already, and stays said; sums and numbers fit. A
// second analyzer forgets all but a few packets meanwhile: each message leaves it once.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "analysis/analyzer.hpp"

namespace {

using namespace softrnic;
using namespace softrnic::analysis;

constexpr std::size_t kRecord = 12;
constexpr std::size_t kMostFrames = 4096;

enum Flags : std::uint8_t {
  kFromBob = 1 << 0,
  kBadIcrc = 1 << 1,
  kVersion1 = 1 << 2,
  kFarOff = 1 << 3,    // the PSN is not near the base but taken from the record
  kMoveBase = 1 << 4,  // the base follows
  kTimeShift = 5,      // three bits: how much time passes
};

constexpr std::chrono::nanoseconds kTimes[] = {
    std::chrono::nanoseconds(0),    std::chrono::nanoseconds(100), std::chrono::microseconds(10),
    std::chrono::microseconds(600), std::chrono::milliseconds(20), std::chrono::milliseconds(80),
    std::chrono::seconds(2),        std::chrono::seconds(-1)};
constexpr std::uint32_t kSizes[] = {0, 1, 64, 255, 256, 300, 1024, 4096};
constexpr std::uint32_t kLengths[] = {0, 8, 256, 257, 700, 4096, 1u << 30, 0xffffffff};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_analyzer: does not hold: %s\n", what);
  std::abort();
}

struct Conversation {
  Frame frame;
  wire::Psn base;
};

// False when the opcode is reserved: such a packet never becomes a frame.
bool next_frame(Conversation& talk, const std::uint8_t* bytes) {
  const std::uint8_t flags = bytes[0];
  Frame& frame = talk.frame;
  frame.opcode = wire::find_opcode(bytes[1]);
  if (frame.opcode == nullptr) return false;
  const bool from_bob = (flags & kFromBob) != 0;
  frame.source = wire::Gid::from_ipv4(from_bob ? 0x0a000002 : 0x0a000001);
  frame.destination = wire::Gid::from_ipv4(from_bob ? 0x0a000001 : 0x0a000002);
  frame.version = (flags & kVersion1) != 0 ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  frame.icrc = (flags & kBadIcrc) != 0 ? IcrcVerdict::bad : IcrcVerdict::good;
  frame.time += kTimes[flags >> kTimeShift];
  ++frame.number;
  wire::TransportHeaders& headers = frame.headers;
  headers.bth.opcode = frame.opcode->opcode;
  headers.bth.destination_qpn = 0x10u + (bytes[2] & 3);
  headers.deth.source_qpn = 0x10u + (bytes[2] >> 2 & 3);
  frame.udp_source_port = static_cast<std::uint16_t>(0xc000 + (bytes[2] >> 4 & 3));
  headers.bth.pad_count = bytes[2] >> 6;
  const auto near = static_cast<std::int8_t>(bytes[3]);
  const std::uint32_t far = bytes[3] | static_cast<std::uint32_t>(bytes[4]) << 8 |
                            static_cast<std::uint32_t>(bytes[5]) << 16;
  headers.bth.psn = (flags & kFarOff) != 0
                        ? wire::Psn(far)
                        : talk.base + static_cast<std::uint32_t>(static_cast<std::int32_t>(near));
  if ((flags & kMoveBase) != 0) talk.base = headers.bth.psn;
  frame.payload_size = frame.opcode->carries_payload ? kSizes[bytes[6] & 7] : 0;
  headers.reth.dma_length = kLengths[bytes[6] >> 3 & 7];
  headers.reth.virtual_address = 0x1000u + 256u * bytes[7];
  headers.reth.remote_key = bytes[6] >> 6;
  headers.atomic_eth.virtual_address = headers.reth.virtual_address;
  headers.aeth.syndrome = wire::Syndrome(bytes[8]);
  headers.aeth.msn = bytes[9];
  headers.atomic_ack_eth.original = bytes[10];
  frame.ecn = bytes[10] & 3;
  frame.checksum = bytes[11];
  return true;
}

void check_said(const Analyzer& analyzer, const PacketRecord& record, std::uint32_t frame) {
  require(record.frame == frame, "a record is of its frame");
  require(record.stream < analyzer.stream_count(), "a packet has a stream");
  require(record.message == kNone || record.message < analyzer.message_count(),
          "a message is one of those there");
  require(record.previous_frame < frame && record.answers < frame && record.original < frame,
          "links lead back");
  for (const Finding& finding : analyzer.findings(record)) {
    require(finding.kind < FindingKind::count, "a finding is of a kind");
    require(finding.related < frame, "a finding leads back");
    require(!sentence(finding).empty(), "a finding has a sentence");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Analyzer analyzer;
  std::size_t gone = 0;
  AnalyzerOptions options;
  options.forgets = true;
  options.remembered = size % 64;
  options.message_gone = [&](const Message& message) {
    require(message.first_frame <= message.last_frame, "a message that is let go is whole");
    ++gone;
  };
  Analyzer forgets(std::move(options));
  Conversation talk;
  std::vector<PacketRecord> said;
  const std::size_t frames = std::min(size / kRecord, kMostFrames);
  for (std::size_t i = 0; i < frames; ++i) {
    if (!next_frame(talk, data + i * kRecord)) continue;
    const PacketRecord& record = analyzer.on_packet(talk.frame);
    check_said(analyzer, record, talk.frame.number);
    said.push_back(record);
    check_said(forgets, forgets.on_packet(talk.frame), talk.frame.number);
  }
  forgets.finish();
  require(gone == forgets.message_count(), "each message is let go once");
  for (PacketRecord& then : said) {
    const PacketRecord* now = analyzer.find(then.frame);
    require(now != nullptr, "a frame given is found");
    then.answered_in = now->answered_in;  // the one member that looks forward
    require(then.first_finding == now->first_finding && then.stream == now->stream &&
                then.message == now->message && then.original == now->original &&
                then.answers == now->answers && then.finding_count == now->finding_count &&
                then.message_offset == now->message_offset &&
                then.repeats_payload == now->repeats_payload &&
                then.ends_message == now->ends_message,
            "what was said stays said");
  }
  for (std::uint32_t i = 0; i < analyzer.message_count(); ++i) {
    const Message& message = analyzer.message(i);
    require(message.stream < analyzer.stream_count(), "a message has a stream");
    require(message.first_frame <= message.last_frame, "a message ends after it began");
  }
  return 0;
}
