// SPDX-License-Identifier: BSD-3-Clause
// What stands behind the plots stays bounded, and keeps what matters.
#include <catch2/catch.hpp>
#include <numeric>

#include "explain/packet_ladder.hpp"
#include "explain/sequence_graph.hpp"
#include "explain/throughput.hpp"

using namespace softrnic;
using namespace softrnic::explain;
using namespace std::chrono_literals;

namespace {

wire::Instant at(wire::Duration time) {
  return wire::Instant(1000s) + time;
}

LadderPacket packet(std::uint32_t frame) {
  LadderPacket p;
  p.frame = frame;
  return p;
}

}  // namespace

TEST_CASE("throughput: bins widen, and no byte is lost") {
  Throughput throughput;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    throughput.add(at(i * 777us), i % 3 == 0, i);
    total += i;
    REQUIRE(throughput.bytes(0).size() <= Throughput::kMostBins);
  }
  const auto sum = [](const auto& v) {
    return std::accumulate(v.begin(), v.end(), std::uint64_t{0});
  };
  CHECK(sum(throughput.bytes(0)) + sum(throughput.bytes(1)) == total);
  CHECK(throughput.bytes(0).size() == throughput.bytes(1).size());
  CHECK(throughput.bin() * static_cast<int>(throughput.bytes(0).size()) > 9999 * 777us);
  CHECK(throughput.begin() == at(0s));
}

TEST_CASE("throughput: each byte is in the bin of its time") {
  Throughput throughput;
  throughput.add(at(0us), 0, 1);
  throughput.add(at(1us), 0, 2);
  throughput.add(at(3us), 1, 4);
  throughput.add(at(2900ns), 0, 8);
  throughput.add(at(-5us), 0, 16);  // the capture's clock went back
  CHECK(throughput.bytes(0) == std::vector<std::uint64_t>{17, 2, 8, 0});
  CHECK(throughput.bytes(1) == std::vector<std::uint64_t>{0, 0, 0, 4});
  throughput.add(at(256us), 1, 32);
  CHECK(throughput.bin() == 2us);
  CHECK(throughput.bytes(0)[0] == 19);
  CHECK(throughput.bytes(1)[128] == 32);
}

TEST_CASE("the sequence graph thins plain points out and keeps marks") {
  SequenceGraph graph;
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    SequencePoint point;
    point.frame = i;
    point.mark = i % 1000 == 0 ? SequenceMark::nak : SequenceMark::request;
    graph.add(point);
  }
  const auto points = graph.points();
  std::uint32_t marks = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    marks += points[i].mark == SequenceMark::nak;
    if (i != 0) REQUIRE(points[i].frame > points[i - 1].frame);
  }
  CHECK(marks == 100);
  CHECK(points.size() > SequenceGraph::kMostPlain / 2);
  CHECK(points.size() <= SequenceGraph::kMostPlain + marks);
  CHECK(points.front().frame == 1);
  CHECK(points.back().frame > 99'000);
  CHECK(graph.left_out() + points.size() == 100'000);
}

TEST_CASE("the ladder keeps the beginning and what is around trouble") {
  PacketLadder ladder;
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    ladder.add(packet(i));
    if (i == 500) ladder.keep_here(10);
  }
  const auto kept = ladder.packets();
  REQUIRE(kept.packets.size() == 32 + 12 + 12);
  CHECK(kept.packets[0].frame == 1);
  CHECK(kept.packets[31].frame == 32);
  CHECK(kept.packets[32].frame == 489);
  CHECK(kept.gaps[32] == 489 - 33);
  CHECK(kept.packets[43].frame == 500);
  CHECK(kept.packets.back().frame == 512);
  CHECK(kept.left_out_at_end == 1000 - 512);
}

TEST_CASE("the ladder keeps no packet twice") {
  PacketLadder ladder;
  for (std::uint32_t i = 1; i <= 200; ++i) {
    ladder.add(packet(i));
    if (i == 3 || i == 36 || i == 60 || i == 62 || i == 75) ladder.keep_here(i);
  }
  const auto kept = ladder.packets();
  for (std::size_t i = 1; i < kept.packets.size(); ++i) {
    REQUIRE(kept.packets[i].frame == kept.packets[i - 1].frame + 1 + kept.gaps[i]);
  }
  CHECK(kept.packets.back().frame == 87);
}

TEST_CASE("of many passages the gravest are kept") {
  PacketLadder ladder;
  std::vector<std::uint32_t> grave;
  for (std::uint32_t i = 1; i <= 10'000; ++i) {
    ladder.add(packet(i));
    if (i % 100 == 0) ladder.keep_here(i % 1000 == 0 ? 1000 + i : 1);
  }
  const auto kept = ladder.packets();
  CHECK(kept.packets.size() <= 32 + PacketLadder::kMostPassages * 24);
  for (const std::uint32_t frame : {10'000u, 9'000u, 4'000u}) {
    const bool found = std::any_of(kept.packets.begin(), kept.packets.end(),
                                   [&](const LadderPacket& p) { return p.frame == frame; });
    CHECK(found);
  }
}
