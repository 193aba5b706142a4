// SPDX-License-Identifier: GPL-2.0-or-later
// -z roce,naks: who refused what, and how long "receiver not ready" made others wait.
#include <algorithm>

#include "dissector/direction.hpp"
#include "dissector/statistic.hpp"
#include "dissector/statistics.hpp"

namespace softrnic::dissector {
namespace {

constexpr Column kColumns[] = {
    {"Stream", Unit::count},
    {"Sent by", Unit::text},
    {"NAK", Unit::text},
    {"Count", Unit::count},
    {"First frame", Unit::count},
    {"Last frame", Unit::count},
    {"Longest run", Unit::count},
    {"Shortest wait", Unit::duration},
    {"Longest wait", Unit::duration},
    {"Waits in all", Unit::duration},
};

struct NakCounts {
  Direction direction;
  analysis::FindingKind kind{};
  std::uint64_t count = 0;
  std::uint32_t first_frame = 0;
  std::uint32_t last_frame = 0;
  std::uint64_t longest_run = 0;
  std::uint64_t shortest_wait = 0;  // ns
  std::uint64_t longest_wait = 0;
  std::uint64_t waits = 0;
};

bool is_nak(analysis::FindingKind kind) {
  return kind >= analysis::FindingKind::nak_psn_sequence && kind <= analysis::FindingKind::rnr_nak;
}

const char* nak_name(analysis::FindingKind kind) {
  using enum analysis::FindingKind;
  switch (kind) {
    case nak_psn_sequence:
      return "PSN sequence error";
    case nak_invalid_request:
      return "invalid request";
    case nak_remote_access:
      return "remote access error";
    case nak_remote_operational:
      return "remote operational error";
    case nak_invalid_rd:
      return "invalid RD request";
    case rnr_nak:
      return "receiver not ready";
    default:
      return "reserved syndrome";
  }
}

Cell microseconds(std::uint64_t nanoseconds) {
  return Cell::of(static_cast<double>(nanoseconds) / 1e3);
}

void count(NakCounts& row, const analysis::Finding& finding, std::uint32_t frame) {
  if (row.count++ == 0) row.first_frame = frame;
  row.last_frame = frame;
  if (row.kind != analysis::FindingKind::rnr_nak) return;
  row.shortest_wait = row.count == 1 ? finding.a : std::min(row.shortest_wait, finding.a);
  row.longest_wait = std::max(row.longest_wait, finding.a);
  row.waits += finding.a;
  row.longest_run = std::max(row.longest_run, finding.b);
}

class Naks : public Statistic {
 public:
  void add(const TapPacket& packet, const analysis::Analyzer& analyzer,
           std::vector<std::size_t>& changed) override {
    const analysis::PacketRecord& record = *packet.record;
    if (record.stream == analysis::kNone) return;
    for (const analysis::Finding& finding : analyzer.findings(record)) {
      if (!is_nak(finding.kind)) continue;
      const Direction direction{record.stream, record.sender};
      const auto [number, added] =
          numbers_.row(direction.key() << 8 | static_cast<std::uint64_t>(finding.kind));
      if (added) {
        rows_.emplace_back();
        rows_.back().direction = direction;
        rows_.back().kind = finding.kind;
      }
      count(rows_[number], finding, record.frame);
      changed.push_back(number);
    }
  }

  std::size_t row_count() const override { return rows_.size(); }

  Row row(std::size_t index, const analysis::Analyzer& analyzer) const override {
    const NakCounts& row = rows_[index];
    const analysis::Stream& stream = analyzer.stream(row.direction.stream);
    Row cells = {Cell::of(row.direction.stream),
                 Cell::of(side_name(stream.sides[row.direction.sender])),
                 Cell::of(std::string(nak_name(row.kind))),
                 Cell::of(row.count),
                 Cell::of(row.first_frame),
                 Cell::of(row.last_frame)};
    if (row.kind == analysis::FindingKind::rnr_nak) {
      cells.insert(cells.end(), {Cell::of(row.longest_run), microseconds(row.shortest_wait),
                                 microseconds(row.longest_wait), microseconds(row.waits)});
    }
    cells.resize(std::size(kColumns));
    return cells;
  }

  Row total() const override {
    NakCounts all;
    for (const NakCounts& row : rows_) {
      all.count += row.count;
      all.waits += row.waits;
    }
    Row cells(std::size(kColumns));
    cells[0] = Cell::of(std::string("all"));
    cells[1] = cells[2] = Cell::of(std::string());
    cells[3] = Cell::of(all.count);
    if (all.waits != 0) cells.back() = microseconds(all.waits);
    return cells;
  }

 private:
  RowNumbers numbers_;
  std::vector<NakCounts> rows_;
};

constexpr StatisticKind kKind = {
    "naks", "NAKs",
    "Waits are those that \"receiver not ready\" asks for; a run counts those without progress in "
    "between.",
    kColumns, []() -> std::unique_ptr<Statistic> { return std::make_unique<Naks>(); }};

}  // namespace

void register_statistics_naks() {
  register_statistic(kKind);
}

}  // namespace softrnic::dissector
