// SPDX-License-Identifier: GPL-2.0-or-later
// -z roce,streams: each connection with what it carried and what befell it.
#include <algorithm>
#include <array>
#include <chrono>

#include "dissector/direction.hpp"
#include "dissector/statistic.hpp"
#include "dissector/statistics.hpp"

namespace softrnic::dissector {
namespace {

constexpr Column kColumns[] = {
    {"Stream", Unit::count},    {"Service", Unit::text},      {"Side A", Unit::text},
    {"Side B", Unit::text},     {"Packets A>B", Unit::count}, {"Packets B>A", Unit::count},
    {"Bytes A>B", Unit::bytes}, {"Bytes B>A", Unit::bytes},   {"Duration", Unit::time},
    {"Throughput", Unit::rate}, {"Sent again", Unit::count},  {"NAKs", Unit::count},
    {"RNR NAKs", Unit::count},  {"ECN marked", Unit::count},  {"CNPs", Unit::count},
    {"State", Unit::text},
};

struct Counts {
  std::array<std::uint64_t, 2> packets{};  // by sender
  std::array<std::uint64_t, 2> bytes{};
  std::uint64_t retransmissions = 0;
  std::uint64_t naks = 0;
  std::uint64_t rnr_naks = 0;
  std::uint64_t ecn_marked = 0;
  std::uint64_t cnps = 0;

  void add(const Counts& other) {
    for (std::size_t side = 0; side < 2; ++side) {
      packets[side] += other.packets[side];
      bytes[side] += other.bytes[side];
    }
    retransmissions += other.retransmissions;
    naks += other.naks;
    rnr_naks += other.rnr_naks;
    ecn_marked += other.ecn_marked;
    cnps += other.cnps;
  }
};

struct StreamCounts {
  std::uint32_t stream = 0;
  Counts counts;
  wire::Instant first;
  wire::Instant last;
};

void count(StreamCounts& row, const analysis::Finding& finding) {
  using enum analysis::FindingKind;
  switch (finding.kind) {
    case retransmission_nak:
    case retransmission_rnr:
    case retransmission_timeout:
    case retransmission_implied:
    case retransmission_selective:
      ++row.counts.retransmissions;
      break;
    case rnr_nak:
      ++row.counts.rnr_naks;
      break;
    case nak_psn_sequence:
    case nak_invalid_request:
    case nak_remote_access:
    case nak_remote_operational:
    case nak_invalid_rd:
    case nak_reserved:
      ++row.counts.naks;
      break;
    case ecn_marked:
      ++row.counts.ecn_marked;
      break;
    case cnp:
    case cnp_without_mark:
      ++row.counts.cnps;
      break;
    default:
      break;
  }
}

double seconds(wire::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Cell throughput(const Counts& counts, wire::Duration duration) {
  if (duration <= wire::Duration::zero()) return Cell::nothing();
  return Cell::of(static_cast<double>(counts.bytes[0] + counts.bytes[1]) * 8 / seconds(duration));
}

Row make_row(Row beginning, const Counts& counts, wire::Duration duration, const char* state) {
  Row row = std::move(beginning);
  row.insert(row.end(),
             {Cell::of(counts.packets[0]), Cell::of(counts.packets[1]), Cell::of(counts.bytes[0]),
              Cell::of(counts.bytes[1]), Cell::of(seconds(duration)), throughput(counts, duration),
              Cell::of(counts.retransmissions), Cell::of(counts.naks), Cell::of(counts.rnr_naks),
              Cell::of(counts.ecn_marked), Cell::of(counts.cnps), Cell::of(std::string(state))});
  return row;
}

class Streams : public Statistic {
 public:
  void add(const TapPacket& packet, const analysis::Analyzer& analyzer,
           std::vector<std::size_t>& changed) override {
    const analysis::PacketRecord& record = *packet.record;
    if (record.stream == analysis::kNone) return;
    const auto [number, added] = numbers_.row(record.stream);
    if (added) rows_.push_back({record.stream, {}, record.time, record.time});
    StreamCounts& row = rows_[number];
    row.first = std::min(row.first, record.time);
    row.last = std::max(row.last, record.time);
    ++row.counts.packets[record.sender];
    if (!record.repeats_payload) row.counts.bytes[record.sender] += packet.packet.payload_size;
    for (const analysis::Finding& finding : analyzer.findings(record)) count(row, finding);
    changed.push_back(number);
  }

  std::size_t row_count() const override { return rows_.size(); }

  Row row(std::size_t index, const analysis::Analyzer& analyzer) const override {
    const StreamCounts& row = rows_[index];
    const analysis::Stream& stream = analyzer.stream(row.stream);
    const char* state = stream.broken ? "broken" : "";
    return make_row({Cell::of(row.stream), Cell::of(std::string(to_string(stream.service))),
                     Cell::of(side_name(stream.sides[0])), Cell::of(side_name(stream.sides[1]))},
                    row.counts, row.last - row.first, state);
  }

  Row total() const override {
    Counts all;
    wire::Instant first = wire::kNever;
    wire::Instant last = wire::Instant::min();
    for (const StreamCounts& row : rows_) {
      all.add(row.counts);
      first = std::min(first, row.first);
      last = std::max(last, row.last);
    }
    if (rows_.empty()) return {};
    return make_row({Cell::of(std::string("all")), Cell::of(std::string()), Cell::of(std::string()),
                     Cell::of(std::string())},
                    all, last - first, "");
  }

 private:
  RowNumbers numbers_;
  std::vector<StreamCounts> rows_;
};

constexpr StatisticKind kKind = {
    "streams", "Streams", "Bytes are payload, repetitions left out; A sent the first packet seen.",
    kColumns, []() -> std::unique_ptr<Statistic> { return std::make_unique<Streams>(); }};

}  // namespace

void register_statistics_streams() {
  register_statistic(kKind);
}

}  // namespace softrnic::dissector
