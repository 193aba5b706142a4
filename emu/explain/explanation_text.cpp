// SPDX-License-Identifier: BSD-3-Clause
#include "explain/explanation_text.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "explain/figures.hpp"

namespace softrnic::explain {

namespace {

using analysis::Stream;
using analysis::StreamSide;
using capture::CheckCounts;
using capture::Traffic;

constexpr auto kLeft = TextTable::Align::left;
constexpr auto kRight = TextTable::Align::right;

std::string end_text(const StreamSide& side) {
  std::string text = side.address.to_string();
  if (side.qpn != analysis::kUnknownQpn) {
    fmt::format_to(std::back_inserter(text), FMT_COMPILE(":0x{:06x}"), side.qpn);
  }
  return text;
}

std::string or_dash(std::uint64_t n) {
  return n == 0 ? "-" : std::to_string(n);
}

std::string others(const CheckCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](Traffic kind, std::string_view text) {
    if (counts.of(kind) != 0) parts.push_back(fmt::format("{} {}", counts.of(kind), text));
  };
  add(Traffic::roce_v2, "RoCE v2");
  add(Traffic::roce_v1, "RoCE v1");
  add(Traffic::arp, "ARP");
  add(Traffic::icmp, "ICMP");
  add(Traffic::tcp, "TCP");
  add(Traffic::udp, "other UDP");
  add(Traffic::other_ip, "other IP");
  add(Traffic::other, "other");
  add(Traffic::unknown, "cut too short to tell");
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Report {
 public:
  Report(const Explanation& explanation, const TextOptions& options, const TextSink& sink)
      : e_(explanation), o_(options), sink_(sink) {}

  void write() {
    add_head();
    if (e_.counts().roce() != 0) add_body();
    flush();
  }

 private:
  void add_body() {
    add_verdict();
    shown_ = e_.by_importance(o_.most_connections);
    add_connections();
    add_directions();
    add_latency();
    add_throughput();
    add_losses();
    add_moments();
  }

  void add_table(const TextTable& table) {
    constexpr std::size_t kPiece = 64 * 1024;
    const auto add = [this](std::string_view line) {
      text_ += line;
      if (text_.size() >= kPiece) flush();
    };
    table.write(add, 2, faint(), plain());
  }

  void flush() {
    sink_(text_);
    text_.clear();
  }

  std::string_view bold() const { return o_.colour ? "\x1b[1m" : ""; }
  std::string_view faint() const { return o_.colour ? "\x1b[2m" : ""; }
  std::string_view red() const { return o_.colour ? "\x1b[31m" : ""; }
  std::string_view yellow() const { return o_.colour ? "\x1b[33m" : ""; }
  std::string_view green() const { return o_.colour ? "\x1b[32m" : ""; }
  std::string_view plain() const { return o_.colour ? "\x1b[0m" : ""; }

  void heading(std::string_view title) {
    text_ += fmt::format("\n{}{}{}\n", bold(), title, plain());
  }

  void add_head() {
    const CheckCounts& counts = e_.counts();
    text_ +=
        fmt::format("{}{}{}: {}", bold(), o_.file, plain(), count_text(counts.frames, "frame"));
    if (counts.frames == 0) {
      text_ += ": there is nothing to explain\n";
      return;
    }
    if (counts.roce() == 0) {
      text_ += fmt::format(", none of them RoCE ({})\n", others(counts));
      return;
    }
    text_ += fmt::format(": {}; {} and {} in {}\n", others(counts),
                         count_text(e_.connections().size(), "connection"),
                         count_text(e_.message_count(), "message"), duration_text(e_.duration()));
    std::vector<std::string> icrc;
    if (counts.icrc_good != 0) icrc.push_back(fmt::format("{} right", counts.icrc_good));
    if (counts.icrc_bad != 0) icrc.push_back(fmt::format("{} wrong", counts.icrc_bad));
    if (counts.icrc_unverified != 0) {
      icrc.push_back(fmt::format("{} unverified", counts.icrc_unverified));
    }
    text_ += fmt::format("ICRC: {}", fmt::join(icrc, ", "));
    if (counts.headers_cut != 0) {
      text_ += fmt::format("; {} cut within the headers and not analysed",
                           count_text(counts.headers_cut, "frame"));
    }
    text_ += '\n';
    if (!o_.why_incomplete.empty()) {
      text_ += fmt::format("{}Not read to the end: this is what was seen until then{}\n", yellow(),
                           plain());
    }
  }

  // What to know before anything else.
  void add_verdict() {
    if (e_.faults() == 0) {
      text_ += fmt::format("{}No faults{}\n", green(), plain());
      return;
    }
    std::vector<FindingCount> kinds = e_.findings();
    std::erase_if(kinds, [](const FindingCount& f) {
      return analysis::info(f.kind).severity < analysis::Severity::warning &&
             f.kind != analysis::FindingKind::retransmission_implied;
    });
    std::sort(kinds.begin(), kinds.end(), [](const FindingCount& a, const FindingCount& b) {
      return a.count != b.count ? a.count > b.count : a.kind < b.kind;
    });
    std::vector<std::string> words;
    for (const FindingCount& f : kinds) {
      words.push_back(fmt::format("{} {}", f.count, analysis::info(f.kind).name));
    }
    const bool errors = e_.counts().errors != 0;
    text_ += wrapped(
        fmt::format("{}{}{}{}{}", errors ? red() : yellow(), count_text(e_.faults(), "fault"),
                    plain(), words.empty() ? "" : ": ", fmt::join(words, ", ")),
        o_.width, 0);
  }

  // "8 WRITE, 3 READ".
  std::string operations_of(const ConnectionAccount& account) const {
    std::vector<std::pair<wire::Operation, std::uint64_t>> sums;
    for (const OperationAccount& one : account.operations) {
      const auto known = std::find_if(sums.begin(), sums.end(),
                                      [&](const auto& s) { return s.first == one.operation; });
      if (known == sums.end()) {
        sums.emplace_back(one.operation, one.messages);
      } else {
        known->second += one.messages;
      }
    }
    std::string text;
    for (const auto& [operation, n] : sums) {
      if (!text.empty()) text += ", ";
      (text += std::to_string(n)).append(1, ' ') += operation_text(operation);
    }
    return text.empty() ? "-" : text;
  }

  std::string end_of(const ConnectionAccount& account) const {
    std::string begun = account.beginning == Beginning::cm     ? "CM, "
                        : account.beginning == Beginning::late ? "late, "
                                                               : "";
    return begun + std::string(to_string(account.ending));
  }

  void add_connections() {
    heading("Connections");
    TextTable table({{"#", kRight},
                     {"", kLeft},
                     {"ends", kLeft},
                     {"operations", kLeft},
                     {"payload", kRight},
                     {"lost", kRight},
                     {"again", kRight},
                     {"RNR", kRight},
                     {"ECN", kRight},
                     {"CNP", kRight},
                     {"time lost", kRight},
                     {"end", kLeft}});
    const std::size_t rows = std::min(shown_.size(), o_.most_connections);
    for (std::size_t i = 0; i < rows; ++i) {
      const Stream& stream = e_.stream(shown_[i]);
      const ConnectionAccount& account = e_.account(shown_[i]);
      const StreamSide& a = stream.sides[0];
      const StreamSide& b = stream.sides[1];
      const bool losses = account.losses != nullptr;
      const wire::Duration lost = account.time_lost();
      table.add({std::to_string(shown_[i]), to_string(stream.service),
                 end_text(a) + " <-> " + end_text(b), operations_of(account),
                 size_text(a.bytes + b.bytes), or_dash(losses ? account.losses->packets : 0),
                 or_dash(account.retransmitted[0] + account.retransmitted[1]),
                 or_dash(losses ? account.losses->rnr_naks : 0),
                 or_dash(a.ecn_marked + b.ecn_marked), or_dash(a.cnps + b.cnps),
                 lost.count() == 0 ? "-" : duration_text(lost), end_of(account)});
    }
    add_table(table);
    if (rows < shown_.size()) {
      text_ +=
          fmt::format("  and {} more, quieter ones (--all shows them)\n", shown_.size() - rows);
    }
  }

  // Only where there is room for it: of a single connection.
  void add_directions() {
    if (shown_.size() != 1) return;
    const Stream& stream = e_.stream(shown_.front());
    const ConnectionAccount& account = e_.account(shown_.front());
    for (std::size_t side : {0u, 1u}) {
      const StreamSide& s = stream.sides[side];
      if (s.packets == 0) {
        text_ += fmt::format("  {} sent nothing that was captured\n", end_text(s));
        continue;
      }
      std::vector<std::string> words{count_text(s.packets, "packet")};
      const auto add = [&](std::uint64_t n, std::string_view what) {
        if (n != 0) words.push_back(fmt::format("{} {}", n, what));
      };
      if (account.payload_bytes[side] != 0) {
        words.push_back(fmt::format(
            "{} of payload at {}", size_text(account.payload_bytes[side]),
            rate_text(account.payload_bytes[side], stream.last_time - stream.first_time)));
      }
      for (const auto& [n, what] : {std::pair{s.acks, "ACK"},
                                    {s.sequence_naks, "sequence NAK"},
                                    {s.selective_acks, "selective ACK"},
                                    {s.rnr_naks, "RNR NAK"},
                                    {s.other_naks, "other NAK"}}) {
        if (n != 0) words.push_back(count_text(n, what));
      }
      add(s.duplicates, "doubled");
      add(s.out_of_order, "out of order");
      add(s.bad_icrc, "with a wrong ICRC");
      text_ += fmt::format("  {} sent {}\n", end_text(s), fmt::join(words, ", "));
    }
    if (account.credits.told != 0) {
      text_ += fmt::format("  Credits: told in {} ACKs, {} to {}, none left in {}\n",
                           account.credits.told, account.credits.least, account.credits.most,
                           account.credits.none);
    }
  }

  void add_latency() {
    TextTable table({{"operation", kLeft},
                     {"done", kRight},
                     {"refused", kRight},
                     {"unanswered", kRight},
                     {"partial", kRight},
                     {"min", kRight},
                     {"p50", kRight},
                     {"p90", kRight},
                     {"p99", kRight},
                     {"p99.9", kRight},
                     {"max", kRight}});
    double error = 0;
    const auto at = [](const LatencyHistogram& latency, double share) {
      if (latency.samples() == 0) return std::string("-");
      return duration_text(wire::Duration(static_cast<std::int64_t>(latency.quantile(share))));
    };
    const std::vector<OperationAccount> all = e_.operations();
    if (all.empty()) return;
    for (const OperationAccount& one : all) {
      const LatencyHistogram& latency = one.latency;
      error = std::max(error, latency.samples() == 0 ? 0.0 : latency.error());
      table.add({operation_text(one.operation), fmt::format("{}", one.completed()),
                 or_dash(one.refused()), or_dash(one.unanswered()), or_dash(one.partial()),
                 latency.samples() == 0
                     ? "-"
                     : duration_text(wire::Duration(static_cast<std::int64_t>(latency.min()))),
                 at(latency, 0.5), at(latency, 0.9), at(latency, 0.99), at(latency, 0.999),
                 at(latency, 1)});
    }
    heading(error == 0 ? std::string("Operations")
                       : fmt::format("Latency, first request packet to answer (quantiles within "
                                     "{:.1f} %)",
                                     error * 100));
    add_table(table);
  }

  void add_throughput() {
    const Throughput& t = e_.throughput();
    std::vector<std::uint64_t> sum = t.bytes(0);
    std::uint64_t total = 0;
    std::uint64_t peak = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += t.bytes(1)[i];
      total += sum[i];
      peak = std::max(peak, sum[i]);
    }
    constexpr std::uint64_t kFew = 32;  // packets, of which bars tell nothing
    if (sum.size() < 8 || total == 0 || e_.counts().roce() < kFew) return;
    constexpr std::size_t kBars = 64;
    heading("Throughput");
    text_ += fmt::format("  {}|{}| mean {}, peak {} in {}\n", plain(), bars(sum, kBars, o_.unicode),
                         rate_text(total, e_.duration()), rate_text(peak, t.bin()),
                         duration_text(t.bin()));
  }

  void add_losses() {
    if (o_.most_losses == 0) return;
    heading("Losses");
    if (e_.loss_count() == 0) {
      text_ += "  none\n";
      return;
    }
    TextTable table({{"#", kRight},
                     {"cause", kLeft},
                     {"PSN", kRight},
                     {"lost in", kRight},
                     {"seen in", kRight},
                     {"asked in", kRight},
                     {"again in", kRight},
                     {"packets", kRight},
                     {"again", kRight},
                     {"rounds", kRight},
                     {"noticed", kRight},
                     {"reacted", kRight},
                     {"time lost", kRight}});
    const std::size_t rows = std::min(e_.losses().size(), o_.most_losses);
    for (std::size_t i = 0; i < rows; ++i) {
      const Loss& loss = e_.losses()[i];
      const bool asked = loss.cause == LossCause::nak || loss.cause == LossCause::selective ||
                         loss.cause == LossCause::implied;
      table.add({fmt::format("{}", loss.connection), to_string(loss.cause),
                 fmt::format("{}", loss.psn), or_dash(loss.lost_frame), or_dash(loss.shown_frame),
                 or_dash(loss.cause_frame), or_dash(loss.again_frame),
                 fmt::format("{}", loss.packets), or_dash(loss.packets_again),
                 loss.rounds == 1 ? "-" : fmt::format("{}", loss.rounds),
                 asked ? duration_text(loss.noticed_after()) : "-",
                 asked ? duration_text(loss.reacted_after()) : "-",
                 loss.cause == LossCause::never ? "-" : duration_text(loss.time_lost())});
    }
    add_table(table);
    if (rows < e_.loss_count()) {
      text_ +=
          fmt::format("  and {} more (--losses-csv writes them all)\n", e_.loss_count() - rows);
    }
  }

  void add_moments() {
    const std::vector<Moment>& moments = e_.worst_moments().moments();
    if (moments.empty()) return;
    heading("Worst moments");
    std::vector<std::string> said;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const Moment& m = moments[i];
      std::string title = fmt::format("frame {}", m.frame);
      if (m.connection != analysis::kNone) title += fmt::format(", connection {}", m.connection);
      title += fmt::format(", at {}", duration_text(m.at - e_.begin()));
      if (m.lost.count() > 0) title += fmt::format(": {} lost", duration_text(m.lost));
      if (m.fatal())
        title += m.lost.count() > 0               ? ", and the connection with it"
                 : m.kind == MomentKind::rejected ? ": no connection"
                                                  : ": the end of the connection";
      const std::string_view colour =
          m.fatal() || m.severity == analysis::Severity::error ? red() : yellow();
      text_ += fmt::format("  {}. {}{}{}\n", i + 1, colour, title, plain());
      text_ += wrapped(what_happened(m), o_.width, 5);
      // Said once: the next one of the same kind needs no more than its figures.
      const std::string rule = what_the_standard_says(m);
      const std::string advice = what_to_look_at(m);
      if (std::find(said.begin(), said.end(), rule + advice) != said.end()) continue;
      said.push_back(rule + advice);
      text_ += std::string(faint()) + wrapped(rule, o_.width, 5) + std::string(plain());
      text_ += wrapped("-> " + advice, o_.width, 5);
    }
  }

  const Explanation& e_;
  const TextOptions& o_;
  const TextSink& sink_;
  std::vector<std::uint32_t> shown_;
  std::string text_;  // not yet given away
};

}  // namespace

void write_text(const Explanation& explanation, const TextOptions& options, const TextSink& sink) {
  Report(explanation, options, sink).write();
}

std::string to_text(const Explanation& explanation, const TextOptions& options) {
  std::string text;
  write_text(explanation, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace softrnic::explain
