// SPDX-License-Identifier: GPL-2.0-or-later
// -z roce,loss: what was lost in each direction, and what was sent again and why.
#include "dissector/direction_statistic.hpp"
#include "dissector/statistics.hpp"

namespace softrnic::dissector {
namespace {

constexpr Column kColumns[] = {
    {"Stream", Unit::count},        {"Sender", Unit::text},        {"Receiver", Unit::text},
    {"Packets", Unit::count},       {"Missing", Unit::count},      {"Loss", Unit::share},
    {"Sent again", Unit::count},    {"after NAK", Unit::count},    {"after RNR", Unit::count},
    {"after timeout", Unit::count}, {"READ again", Unit::count},   {"Timeouts", Unit::count},
    {"Duplicates", Unit::count},    {"Out of order", Unit::count}, {"Bad ICRC", Unit::count},
};

struct LossCounts {
  Direction direction;
  std::uint64_t packets = 0;
  std::uint64_t missing = 0;
  std::uint64_t after_nak = 0;
  std::uint64_t after_rnr = 0;
  std::uint64_t after_timeout = 0;
  std::uint64_t implied = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t bad_icrc = 0;
  // The newest packet sent again after a timeout, to tell one timeout's packets from the next's.
  bool in_timeout = false;
  std::int32_t timeout_psn = 0;

  void add(const LossCounts& other) {
    packets += other.packets;
    missing += other.missing;
    after_nak += other.after_nak;
    after_rnr += other.after_rnr;
    after_timeout += other.after_timeout;
    implied += other.implied;
    timeouts += other.timeouts;
    duplicates += other.duplicates;
    out_of_order += other.out_of_order;
    bad_icrc += other.bad_icrc;
  }
};

// After one timeout the requester sends all that is outstanding, in order.
void count_timeout(LossCounts& row, std::int32_t psn) {
  ++row.after_timeout;
  if (!row.in_timeout || psn <= row.timeout_psn) ++row.timeouts;
  row.timeout_psn = psn;
}

void count(LossCounts& row, const analysis::Finding& finding, std::int32_t psn) {
  using enum analysis::FindingKind;
  switch (finding.kind) {
    case psn_gap:
    case read_response_missing:
      row.missing += finding.b;
      break;
    case out_of_order:
      ++row.out_of_order;
      if (row.missing != 0) --row.missing;  // late, not lost
      break;
    case retransmission_nak:
    case retransmission_selective:
      ++row.after_nak;
      break;
    case retransmission_rnr:
      ++row.after_rnr;
      break;
    case retransmission_timeout:
      count_timeout(row, psn);
      break;
    case retransmission_implied:
      ++row.implied;
      break;
    case duplicate:
    case duplicate_ack:
    case response_repeated:
      ++row.duplicates;
      break;
    case bad_icrc:
      ++row.bad_icrc;
      break;
    default:
      break;
  }
}

Row make_row(Row beginning, const LossCounts& counts) {
  Row row = std::move(beginning);
  const std::uint64_t sent = counts.packets + counts.missing;
  const std::uint64_t lost = counts.missing + counts.bad_icrc;
  row.insert(
      row.end(),
      {Cell::of(counts.packets), Cell::of(counts.missing),
       Cell::of(sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent)),
       Cell::of(counts.after_nak + counts.after_rnr + counts.after_timeout + counts.implied),
       Cell::of(counts.after_nak), Cell::of(counts.after_rnr), Cell::of(counts.after_timeout),
       Cell::of(counts.implied), Cell::of(counts.timeouts), Cell::of(counts.duplicates),
       Cell::of(counts.out_of_order), Cell::of(counts.bad_icrc)});
  return row;
}

class Loss : public DirectionStatistic<LossCounts> {
 public:
  void add(const TapPacket& packet, const analysis::Analyzer& analyzer,
           std::vector<std::size_t>& changed) override {
    const analysis::PacketRecord& record = *packet.record;
    if (record.stream == analysis::kNone) return;
    LossCounts& row = row_of({record.stream, record.sender}, changed);
    ++row.packets;
    const std::uint64_t before = row.after_timeout;
    for (const analysis::Finding& finding : analyzer.findings(record)) {
      count(row, finding, record.relative_psn);
    }
    if (!packet.packet.opcode->is_response()) row.in_timeout = row.after_timeout != before;
  }
};

constexpr StatisticKind kKind = {
    "loss", "Loss and Retransmission",
    "Missing: never seen here, by the gaps in the PSNs. Loss: missing or with a bad ICRC, of all "
    "that was sent.",
    kColumns, []() -> std::unique_ptr<Statistic> { return std::make_unique<Loss>(); }};

}  // namespace

void register_statistics_loss() {
  register_statistic(kKind);
}

}  // namespace softrnic::dissector
