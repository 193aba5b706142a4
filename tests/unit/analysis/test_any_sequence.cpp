// SPDX-License-Identifier: BSD-3-Clause
// Any sequence of frames is accepted, and what was said stays said.
#include <cstdlib>
#include <iostream>
#include <random>

#include "unit/analysis/captured_talk.hpp"
#include "wire/cm_message.hpp"

namespace softrnic::analysis::test {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t n) {
  return static_cast<std::uint32_t>(random() % n);
}

// Frames of few hosts, queue pairs and PSNs, so that they often have to do with each other; now
// and then one from far off.
Frame any_frame(Random& random, const std::vector<const wire::OpcodeInfo*>& opcodes,
                std::uint32_t base) {
  Frame frame;
  const bool forth = below(random, 2) == 0;
  frame.source = forth ? kAlice : kBob;
  frame.destination = forth ? kBob : kAlice;
  frame.udp_source_port = static_cast<std::uint16_t>(0xc000 + below(random, 3));
  frame.version = below(random, 8) == 0 ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  frame.ecn = static_cast<std::uint8_t>(below(random, 4));
  frame.opcode = opcodes[below(random, static_cast<std::uint32_t>(opcodes.size()))];
  wire::TransportHeaders& headers = frame.headers;
  headers.bth.opcode = frame.opcode->opcode;
  headers.bth.destination_qpn = 0x10 + below(random, 3);
  headers.bth.psn = Psn(base + below(random, 24));
  if (below(random, 200) == 0) headers.bth.psn = Psn(below(random, 1 << 24));
  headers.bth.pad_count = static_cast<std::uint8_t>(below(random, 10) == 0 ? random() & 3 : 0);
  headers.deth.source_qpn = 0x10 + below(random, 3);
  headers.reth.virtual_address = 0x1000 + 256 * below(random, 8);
  headers.reth.remote_key = below(random, 2);
  static constexpr std::uint32_t kLengths[] = {0, 64, 256, 700, 4096, 0x80000000, 0xffffffff};
  headers.reth.dma_length = kLengths[below(random, std::size(kLengths))];
  headers.atomic_eth.virtual_address = 0x1000;
  static constexpr std::uint8_t kSyndromes[] = {0x00, 0x1f, 0x20, 0x2c, 0x60,
                                                0x60, 0x61, 0x62, 0x67, 0xff};
  headers.aeth.syndrome = Syndrome(kSyndromes[below(random, std::size(kSyndromes))]);
  headers.aeth.msn = below(random, 24);
  headers.atomic_ack_eth.original = below(random, 2);
  static constexpr std::uint32_t kSizes[] = {0, 1, 64, 256, 256, 1024, 9000};
  if (frame.opcode->carries_payload) frame.payload_size = kSizes[below(random, std::size(kSizes))];
  frame.checksum = below(random, 4);
  frame.icrc = static_cast<IcrcVerdict>(below(random, 20) == 0 ? 1 : 0);
  return frame;
}

// A CM message of few ids and queue pairs, now and then cut off or damaged.
void make_cm_message(Random& random, Frame& frame, std::vector<std::byte>& bytes) {
  frame.opcode = &wire::info(Opcode::ud_send_only);
  wire::TransportHeaders& headers = frame.headers;
  headers.bth.opcode = frame.opcode->opcode;
  headers.bth.destination_qpn = wire::kGeneralServiceQpn;
  headers.deth = {wire::kGeneralServiceQueueKey, 0, wire::kGeneralServiceQpn};
  frame.payload_size = wire::kMadSize;
  bytes.assign(wire::kMadSize, std::byte{});
  wire::MadHeader mad;
  mad.attribute_id = static_cast<std::uint16_t>(0x0f + below(random, 13));
  mad.transaction_id = below(random, 2);
  mad.serialize(std::span(bytes).first<wire::MadHeader::kSize>());
  // The ids, and whatever stands where a REQ and a REP have their queue pair.
  for (const std::size_t offset : {3u, 7u, 14u, 34u}) {
    bytes[wire::MadHeader::kSize + offset] = static_cast<std::byte>(0x10 + below(random, 3));
  }
  if (below(random, 4) == 0)
    bytes[below(random, wire::kMadSize)] = static_cast<std::byte>(random());
  const bool cut = below(random, 8) == 0;
  frame.payload = wire::ByteView(bytes).first(cut ? below(random, wire::kMadSize) : bytes.size());
}

bool is_the_same_but_answered_in(const PacketRecord& a, const PacketRecord& b) {
  return a.time == b.time && a.frame == b.frame && a.stream == b.stream && a.message == b.message &&
         a.message_offset == b.message_offset && a.relative_psn == b.relative_psn &&
         a.previous_frame == b.previous_frame && a.answers == b.answers &&
         a.original == b.original && a.first_finding == b.first_finding &&
         a.bytes_in_flight == b.bytes_in_flight && a.packets_in_flight == b.packets_in_flight &&
         a.outstanding_reads == b.outstanding_reads && a.finding_count == b.finding_count &&
         a.sender == b.sender && a.repetition == b.repetition &&
         a.repeats_payload == b.repeats_payload && a.ends_message == b.ends_message;
}

void check_record(const Analyzer& analyzer, const PacketRecord& record, std::uint32_t frame) {
  REQUIRE(record.frame == frame);
  REQUIRE(record.stream < analyzer.stream_count());
  REQUIRE(record.sender < 2);
  REQUIRE((record.message == kNone || record.message < analyzer.message_count()));
  REQUIRE(record.previous_frame < frame);
  REQUIRE(record.answers < frame);
  REQUIRE(record.original < frame);
  for (const Finding& finding : analyzer.findings(record)) {
    REQUIRE(finding.kind < FindingKind::count);
    REQUIRE(finding.related < frame);
    REQUIRE(!sentence(finding).empty());
  }
}

std::vector<const wire::OpcodeInfo*> opcodes_of(bool reliable_only) {
  std::vector<const wire::OpcodeInfo*> all;
  for (unsigned value = 0; value < (reliable_only ? 0x20u : 0x100u); ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row != nullptr) all.push_back(row);
  }
  return all;
}

void run(std::uint64_t seed, bool reliable_only) {
  INFO("seed " << seed);
  Random random(seed);
  const auto opcodes = opcodes_of(reliable_only);
  Analyzer analyzer;
  std::vector<PacketRecord> said;
  wire::Instant time(1000s);
  std::uint32_t base = below(random, 1 << 24);
  for (std::uint32_t number = 1; number <= 3000; ++number) {
    Frame frame = any_frame(random, opcodes, base);
    std::vector<std::byte> bytes;
    if (below(random, 30) == 0) make_cm_message(random, frame, bytes);
    if (below(random, 8) == 0) ++base;
    frame.number = number;
    time += below(random, 20) == 0 ? wire::Duration(100ms) : wire::Duration(10us);
    if (below(random, 100) == 0) time -= 1s;  // captures of several ports are not always in order
    frame.time = time;
    const PacketRecord& record = analyzer.on_packet(frame);
    check_record(analyzer, record, number);
    said.push_back(record);
  }
  for (const PacketRecord& then : said) {
    const PacketRecord* now = analyzer.find(then.frame);
    REQUIRE(now != nullptr);
    REQUIRE(is_the_same_but_answered_in(then, *now));
    REQUIRE((then.answered_in == 0 || now->answered_in >= then.answered_in));
  }
  std::uint64_t packets = 0;
  for (std::uint32_t i = 0; i < analyzer.stream_count(); ++i) {
    packets += analyzer.stream(i).sides[0].packets + analyzer.stream(i).sides[1].packets;
  }
  REQUIRE(packets == said.size());
  for (std::uint32_t i = 0; i < analyzer.message_count(); ++i) {
    const Message& message = analyzer.message(i);
    REQUIRE(message.stream < analyzer.stream_count());
    REQUIRE(message.first_frame >= 1);
    REQUIRE(message.last_frame >= message.first_frame);
    REQUIRE((message.completed_frame == 0 || message.completed_frame >= message.first_frame));
  }
}

TEST_CASE("any sequence of frames is accepted", "[any]") {
  const char* chosen = std::getenv("SOFTRNIC_SEED");
  const std::uint64_t seed =
      chosen == nullptr ? std::random_device{}() : std::strtoull(chosen, nullptr, 0);
  std::cout << "any sequence: seed " << seed << "\n";
  for (std::uint64_t i = 0; i < 30; ++i) {
    run(seed + i, true);
    run(seed + i, false);
  }
}

TEST_CASE("the same frames are analysed the same way", "[any]") {
  const auto findings = [] {
    Random random(7);
    const auto opcodes = opcodes_of(true);
    Analyzer analyzer;
    std::vector<Finding> all;
    for (std::uint32_t number = 1; number <= 2000; ++number) {
      Frame frame = any_frame(random, opcodes, number / 8);
      frame.number = number;
      frame.time = wire::Instant(number * 10us);
      const auto said = analyzer.findings(analyzer.on_packet(frame));
      all.insert(all.end(), said.begin(), said.end());
    }
    return all;
  };
  CHECK(findings() == findings());
}

TEST_CASE("the PSN goes round several times", "[any]") {
  const bool answered = GENERATE(true, false);
  CapturedTalk talk;
  talk.write(0, 2);
  std::uint64_t psn = 2;
  std::uint32_t msn = 1;
  if (answered) talk.ack(1, msn);
  for (int i = 0; i < 300; ++i) {
    // A READ of 2^18 packets, of which the capture shows the first and the last response.
    const auto at = static_cast<std::uint32_t>(psn & 0xffffff);
    const Said read = talk.read(at, 64u << 20);
    INFO(i << read.text());
    REQUIRE(read.nothing());
    REQUIRE(read.record.relative_psn == static_cast<std::int32_t>(psn));
    psn += 1 << 18;
    const Said send = talk.send(static_cast<std::uint32_t>(psn & 0xffffff));
    INFO(send.text());
    REQUIRE(send.nothing());
    REQUIRE(send.record.relative_psn == static_cast<std::int32_t>(psn));
    if (answered) {
      const auto last = static_cast<std::uint32_t>(psn & 0xffffff);
      const Said ack = talk.ack(last, msn += 2);
      INFO(ack.text());
      REQUIRE_FALSE(ack.has(FindingKind::ack_of_unsent));
      REQUIRE_FALSE(ack.has(FindingKind::ghost));
      REQUIRE(ack.record.answers == talk.frame() - 1);
      REQUIRE(ack.record.packets_in_flight == 0);
      REQUIRE(talk.ack(last, msn).only().kind == FindingKind::duplicate_ack);
    }
    ++psn;
  }
}

TEST_CASE("memory stays bounded where nothing is ever acknowledged", "[any]") {
  Analyzer analyzer;
  Frame frame;
  frame.source = kAlice;
  frame.destination = kBob;
  frame.opcode = &wire::info(Opcode::rc_send_only);
  const auto push = [&](std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      frame.time += 1us;
      ++frame.number;
      frame.headers.bth.psn = Psn(frame.number);
      analyzer.on_packet(frame);
    }
    return analyzer.memory();
  };
  push(200'000);
  const std::size_t before = push(1);
  const std::size_t after = push(100'000);
  // What every packet costs for good: its record, a message, its place by frame number.
  const std::size_t each = sizeof(PacketRecord) + sizeof(Message) + sizeof(std::uint32_t);
  CHECK(after - before < 100'000 * each * 11 / 10);
}

}  // namespace
}  // namespace softrnic::analysis::test
