// SPDX-License-Identifier: GPL-2.0-or-later
// -z roce,congestion: how much of each direction was marked on its way, and how its sender was told
// to slow down.
#include <algorithm>
#include <chrono>

#include "dissector/analysis.hpp"
#include "dissector/direction_statistic.hpp"
#include "dissector/statistics.hpp"

namespace softrnic::dissector {
namespace {

constexpr Column kColumns[] = {
    {"Stream", Unit::count},        {"Sender", Unit::text},       {"Receiver", Unit::text},
    {"Packets", Unit::count},       {"ECN capable", Unit::share}, {"Marked", Unit::count},
    {"Marked share", Unit::share},  {"CNPs back", Unit::count},   {"CNP rate", Unit::frequency},
    {"Marks per CNP", Unit::count}, {"Rate cuts", Unit::count},
};

constexpr std::uint8_t kCongestionExperienced = 3;  // RFC 3168, 5

struct CongestionCounts {
  Direction direction;
  std::uint64_t packets = 0;
  std::uint64_t capable = 0;
  std::uint64_t marked = 0;
  std::uint64_t cnps = 0;  // sent by the receiver
  std::uint64_t rate_cuts = 0;
  wire::Instant first = wire::kNever;
  wire::Instant last = wire::Instant::min();

  void add(const CongestionCounts& other) {
    packets += other.packets;
    capable += other.capable;
    marked += other.marked;
    cnps += other.cnps;
    rate_cuts += other.rate_cuts;
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

Cell share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return Cell::nothing();
  return Cell::of(static_cast<double>(part) / static_cast<double>(whole));
}

Cell cnp_rate(const CongestionCounts& counts) {
  if (counts.cnps == 0) return Cell::of(0);
  if (counts.first >= counts.last) return Cell::nothing();
  return Cell::of(static_cast<double>(counts.cnps) /
                  std::chrono::duration<double>(counts.last - counts.first).count());
}

void count_marks(CongestionCounts& row, std::uint8_t ecn) {
  ++row.packets;
  if (ecn != 0) ++row.capable;
  if (ecn == kCongestionExperienced) ++row.marked;
}

Row make_row(Row beginning, const CongestionCounts& counts) {
  Row row = std::move(beginning);
  row.insert(row.end(), {Cell::of(counts.packets), share(counts.capable, counts.packets),
                         Cell::of(counts.marked), share(counts.marked, counts.packets),
                         Cell::of(counts.cnps), cnp_rate(counts),
                         counts.cnps == 0 ? Cell::nothing() : Cell::of(counts.marked / counts.cnps),
                         Cell::of(counts.rate_cuts)});
  return row;
}

class Congestion : public DirectionStatistic<CongestionCounts> {
 public:
  void add(const TapPacket& packet, const analysis::Analyzer& analyzer,
           std::vector<std::size_t>& changed) override {
    const analysis::PacketRecord& record = *packet.record;
    if (record.stream == analysis::kNone) return;
    const Direction direction{record.stream, record.sender};
    const bool is_cnp = packet.packet.opcode->operation == wire::Operation::cnp;
    // A CNP is about what the other side sends.
    CongestionCounts& row = row_of(is_cnp ? direction.reverse() : direction, changed);
    row.first = std::min(row.first, record.time);
    row.last = std::max(row.last, record.time);
    if (is_cnp) {
      ++row.cnps;
    } else {
      count_marks(row, ecn_of(packet.packet, packet.icrc));
    }
    for (const analysis::Finding& finding : analyzer.findings(record)) {
      if (finding.kind == analysis::FindingKind::rate_changed && finding.b < finding.a) {
        ++row.rate_cuts;
      }
    }
  }
};

constexpr StatisticKind kKind = {
    "congestion", "Congestion",
    "Marked: \"congestion experienced\" (ECN 3). CNPs back: sent by the receiver of this "
    "direction.",
    kColumns, []() -> std::unique_ptr<Statistic> { return std::make_unique<Congestion>(); }};

}  // namespace

void register_statistics_congestion() {
  register_statistic(kKind);
}

}  // namespace softrnic::dissector
