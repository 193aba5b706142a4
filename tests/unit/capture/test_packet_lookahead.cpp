// SPDX-License-Identifier: BSD-3-Clause
#include "capture/packet_lookahead.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "capture/capture_check.hpp"
#include "sample_frame.hpp"

using namespace softrnic;
using namespace capture;
using namespace capture::test;

namespace {

// Requests and answers of many connections, with packets missing, doubled and spoilt, datagrams and
// what is no RoCE in between.
std::vector<Bytes> mixed_frames(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Bytes> frames;
  std::vector<std::uint32_t> psns(200, 100);
  for (unsigned i = 0; i < 3000; ++i) {
    const std::size_t connection = random() % psns.size();
    Sample sample;
    sample.qpn = 0x100 + static_cast<std::uint32_t>(connection);
    sample.psn = psns[connection] += random() % 20 == 0 ? 2 : 1;
    sample.from_alice = random() % 4 != 0;
    if (!sample.from_alice) {
      sample.opcode = Opcode::rc_acknowledge;
      sample.payload = 0;
    } else if (random() % 10 == 0) {
      sample.opcode = Opcode::ud_send_only;
    }
    Bytes bytes = frame(sample);
    if (random() % 30 == 0) bytes[bytes.size() - 6] ^= std::byte{4};
    if (random() % 50 == 0) bytes.resize(random() % bytes.size());
    frames.push_back(bytes);
    if (random() % 30 == 0) frames.push_back(bytes);
  }
  return frames;
}

std::vector<std::string> sentences(const CaptureCheck& check) {
  std::vector<std::string> all;
  for (const Fault& fault : check.faults()) {
    all.push_back(std::to_string(fault.frame) + ' ' + std::string(fault.kind) + ' ' +
                  fault.sentence);
  }
  return all;
}

}  // namespace

TEST_CASE("looking ahead changes nothing that is found") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const bool mirrored = GENERATE(false, true);
  CAPTURE(seed, mirrored);
  constexpr std::size_t kAll = 1 << 20;
  CaptureCheck plain(kAll, mirrored);
  CaptureCheck told(kAll, mirrored);
  PacketLookahead ahead(told, mirrored);
  std::uint32_t number = 0;
  Bytes only;  // a record's bytes are good until the next record
  for (const Bytes& bytes : mixed_frames(seed)) {
    if (bytes.empty()) continue;
    only = bytes;
    const Record record = record_of(only, ++number);
    plain.on_record(LinkType::ethernet, record);
    ahead.on_record(LinkType::ethernet, record);
    std::fill(only.begin(), only.end(), std::byte{0xee});
  }
  CHECK(told.counts().frames < number);
  ahead.finish();
  CHECK(told.counts().frames == number);
  CHECK(told.counts().icrc_bad == plain.counts().icrc_bad);
  CHECK(told.counts().traffic == plain.counts().traffic);
  CHECK(told.duration() == plain.duration());
  CHECK(told.analyzer().stream_count() == plain.analyzer().stream_count());
  REQUIRE(plain.counts().faults > 50);
  CHECK(sentences(told) == sentences(plain));
}

TEST_CASE("of fewer frames than are looked ahead each has its turn") {
  for (const std::uint32_t frames : {0u, 1u, 5u, 15u, 16u, 17u}) {
    CaptureCheck check(1);
    PacketLookahead ahead(check);
    const Bytes bytes = frame({});
    for (std::uint32_t i = 1; i <= frames; ++i) {
      ahead.on_record(LinkType::ethernet, record_of(bytes, i));
    }
    ahead.finish();
    CHECK(check.counts().frames == frames);
  }
}
