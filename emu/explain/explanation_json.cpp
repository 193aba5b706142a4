// SPDX-License-Identifier: BSD-3-Clause
#include "explain/explanation_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "explain/figures.hpp"
#include "explain/message_row.hpp"
#include "wire/aeth.hpp"

namespace softrnic::explain {

namespace {

using analysis::Finding;
using analysis::Stream;
using analysis::StreamSide;
using capture::CheckCounts;
using Json = nlohmann::ordered_json;

std::int64_t since(wire::Instant from, wire::Instant to) {
  return (to - from).count();
}

Json frame_or_null(std::uint32_t frame) {
  return frame == 0 ? Json(nullptr) : Json(frame);
}

Json latency_json(const LatencyHistogram& latency) {
  Json json{{"samples", latency.samples()}};
  if (latency.samples() == 0) return json;
  json["min"] = latency.min();
  json["p50"] = latency.quantile(0.5);
  json["p90"] = latency.quantile(0.9);
  json["p99"] = latency.quantile(0.99);
  json["p999"] = latency.quantile(0.999);
  json["max"] = latency.max();
  json["mean"] = static_cast<std::uint64_t>(latency.mean());
  json["error"] = latency.error();
  return json;
}

Json findings_json(const std::vector<FindingCount>& findings) {
  std::vector<FindingCount> sorted = findings;
  std::sort(sorted.begin(), sorted.end(),
            [](const FindingCount& a, const FindingCount& b) { return a.kind < b.kind; });
  Json json = Json::object();
  for (const FindingCount& f : sorted) json[std::string(analysis::info(f.kind).name)] = f.count;
  return json;
}

class ConnectionJson {
 public:
  ConnectionJson(const Explanation& explanation, std::uint32_t index, bool detailed)
      : e_(explanation),
        account_(explanation.account(index)),
        stream_(explanation.stream(index)),
        detailed_(detailed && account_.detail != nullptr) {}

  Json object() const {
    Json json{{"id", stream_.index},
              {"service", service_name(stream_.service)},
              {"version", stream_.version == wire::RoceVersion::v1 ? "v1" : "v2"},
              {"ip", stream_.sides[0].address.is_ipv4_mapped() ? 4 : 6}};
    if (account_.vlan != ConnectionAccount::kNoVlan) json["vlan"] = account_.vlan;
    json["ends"] = ends();
    json["begins_ns"] = since(e_.begin(), stream_.first_time);
    json["ends_ns"] = since(e_.begin(), stream_.last_time);
    json["first_frame"] = stream_.first_frame;
    json["last_frame"] = stream_.last_frame;
    json["paired_by"] = analysis::to_string(stream_.paired_by);
    json["established"] = to_string(account_.beginning);
    json["ended"] = to_string(account_.ending);
    if (const CmSetup* setup = e_.setup().find(stream_)) json["cm"] = cm(*setup);
    json["directions"] = Json::array({direction(0), direction(1)});
    json["operations"] = operations();
    json["losses"] = losses();
    json["rnr"] = {{"naks", account_.losses ? account_.losses->rnr_naks : 0},
                   {"waited_ns", account_.losses ? account_.losses->rnr_waited.count() : 0}};
    json["naks"] = naks();
    json["credits"] = credits();
    json["faults"] = account_.found->faults;
    json["findings"] = findings_json(account_.found->findings);
    json["first_fault"] = first_fault();
    if (detailed_) add_detail(json);
    return json;
  }

 private:
  Json ends() const {
    Json both = Json::array();
    for (const StreamSide& side : stream_.sides) {
      Json end{{"address", side.address.to_string()}};
      if (side.udp_source_port != 0) end["port"] = side.udp_source_port;
      end["qpn"] = side.qpn == analysis::kUnknownQpn ? Json(nullptr) : Json(side.qpn);
      both.push_back(end);
    }
    return both;
  }

  Json cm(const CmSetup& setup) const {
    const bool first_asked =
        setup.address[0] == stream_.sides[0].address && setup.qpn[0] == stream_.sides[0].qpn;
    return {{"asked_by", first_asked ? 0 : 1},
            {"request_frame", setup.request_frame},
            {"reply_frame", frame_or_null(setup.reply_frame)},
            {"ready_frame", frame_or_null(setup.ready_frame)},
            {"disconnect_frame", frame_or_null(setup.disconnect_frame)}};
  }

  Json direction(std::size_t side) const {
    const StreamSide& s = stream_.sides[side];
    return {{"packets", s.packets},
            {"payload_bytes", account_.payload_bytes[side]},
            {"goodput_bytes", s.bytes},
            {"messages", s.messages},
            {"path_mtu", stream_.path_mtu == 0 ? Json(nullptr) : Json(stream_.path_mtu)},
            {"retransmitted_packets", account_.retransmitted[side]},
            {"lost", s.lost},
            {"duplicates", s.duplicates},
            {"out_of_order", s.out_of_order},
            {"bad_icrc", s.bad_icrc},
            {"acks", s.acks},
            {"ecn_marked", s.ecn_marked},
            {"cnps", s.cnps}};
  }

  Json operations() const {
    Json list = Json::array();
    for (const OperationAccount& one : account_.operations) {
      Json json{{"operation", operation_name(one.operation)},
                {"from", one.from},
                {"messages", one.messages},
                {"bytes", one.bytes},
                {"completed", one.completed()},
                {"refused", one.refused()},
                {"unanswered", one.unanswered()},
                {"partial", one.partial()},
                {"latency_ns", latency_json(one.latency)}};
      if (detailed_) {
        Json histogram = Json::array();
        for (const LatencyHistogram::Bucket& bucket : one.latency.buckets()) {
          histogram.push_back({one.latency.lower_bound(bucket), bucket.count});
        }
        json["histogram"] = histogram;
      }
      list.push_back(json);
    }
    return list;
  }

  Json losses() const {
    static const LossAccount kNothing;
    const LossAccount& losses = account_.losses ? *account_.losses : kNothing;
    Json causes = Json::object();
    for (std::size_t i = 0; i < kLossCauses; ++i) {
      causes[std::string(to_string(static_cast<LossCause>(i)))] = losses.by_cause[i];
    }
    return {{"losses", losses.losses},
            {"packets", losses.packets},
            {"by_cause", causes},
            {"time_lost_ns", losses.time_lost.total().count()},
            {"recovery_ns", latency_json(losses.recovery_times)}};
  }

  Json naks() const {
    Json json = Json::object();
    for (const SyndromeCount& nak : account_.found->naks) {
      json[fmt::format("0x{:02x}", nak.syndrome)] = nak.count;
    }
    return json;
  }

  Json credits() const {
    const CreditAccount& credits = account_.credits;
    Json json{{"told", credits.told}};
    if (credits.told == 0) return json;
    json["none_left"] = credits.none;
    json["least"] = credits.least;
    json["most"] = credits.most;
    return json;
  }

  Json first_fault() const {
    if (account_.found->first_fault == 0) return nullptr;
    return {{"frame", account_.found->first_fault},
            {"kind", analysis::info(account_.found->first_fault_kind).name}};
  }

  void add_detail(Json& json) const {
    const ConnectionDetail& detail = *account_.detail;
    json["throughput"] = {{"begins_ns", since(e_.begin(), detail.throughput.begin())},
                          {"bin_ns", detail.throughput.bin().count()},
                          {"bytes", {detail.throughput.bytes(0), detail.throughput.bytes(1)}}};
    Json points = Json::array();
    for (const SequencePoint& point : detail.sequence.points()) {
      points.push_back({since(e_.begin(), point.at), point.requester, point.psn, point.psns,
                        to_string(point.mark), point.frame});
    }
    json["sequence"] = {{"columns", {"t_ns", "requester", "psn", "psns", "mark", "frame"}},
                        {"points", points},
                        {"left_out", detail.sequence.left_out()}};
    json["ladder"] = ladder(detail.ladder.packets());
  }

  Json ladder(const PacketLadder::Packets& ladder) const {
    Json list = Json::array();
    for (std::size_t i = 0; i < ladder.packets.size(); ++i) {
      const LadderPacket& p = ladder.packets[i];
      Json json{{"frame", p.frame}, {"t_ns", since(e_.begin(), p.at)},
                {"from", p.sender}, {"opcode", wire::info(p.opcode).name},
                {"psn", p.psn},     {"relative_psn", p.relative_psn},
                {"bytes", p.bytes}};
      if (p.has_aeth) {
        json["syndrome"] = p.syndrome;
        json["answer"] = syndrome_text(wire::Syndrome(p.syndrome));
        json["msn"] = p.msn;
      }
      if (p.repetition != 0) json["repetition"] = p.repetition;
      if (p.has_finding) {
        const analysis::FindingInfo& info = analysis::info(p.finding.kind);
        json["finding"] = info.name;
        json["severity"] = analysis::to_string(info.severity);
        json["sentence"] = analysis::sentence(p.finding);
      }
      if (ladder.gaps[i] != 0) json["left_out_before"] = ladder.gaps[i];
      list.push_back(json);
    }
    return list;
  }

  const Explanation& e_;
  const ConnectionAccount& account_;
  const Stream& stream_;
  bool detailed_;
};

Json moment_json(const Explanation& explanation, const Moment& moment) {
  Json json{{"kind", to_string(moment.kind)},
            {"severity", analysis::to_string(moment.severity)},
            {"connection",
             moment.connection == analysis::kNone ? Json(nullptr) : Json(moment.connection)},
            {"frame", moment.frame},
            {"related_frame", frame_or_null(moment.related)},
            {"at_ns", since(explanation.begin(), moment.at)},
            {"time_lost_ns", moment.lost.count()},
            {"times", moment.times},
            {"what", what_happened(moment)},
            {"standard", what_the_standard_says(moment)},
            {"look_at", what_to_look_at(moment)}};
  if (moment.loss.packets_again != 0) json["cause"] = to_string(moment.loss.cause);
  return json;
}

Json loss_json(const Explanation& explanation, const Loss& loss) {
  return {{"connection", loss.connection},
          {"from", loss.side},
          {"cause", to_string(loss.cause)},
          {"psn", loss.psn},
          {"packets", loss.packets},
          {"packets_again", loss.packets_again},
          {"rounds", loss.rounds},
          {"gave_up", loss.gave_up},
          {"lost_frame", frame_or_null(loss.lost_frame)},
          {"shown_frame", frame_or_null(loss.shown_frame)},
          {"late_frame", frame_or_null(loss.late_frame)},
          {"cause_frame", frame_or_null(loss.cause_frame)},
          {"again_frame", frame_or_null(loss.again_frame)},
          {"last_frame", loss.last_frame},
          {"lost_at_ns", since(explanation.begin(), loss.lost_at)},
          {"noticed_after_ns", loss.noticed_after().count()},
          {"reacted_after_ns", loss.reacted_after().count()},
          {"time_lost_ns", loss.time_lost().count()}};
}

Json summary(const Explanation& explanation, const JsonOptions& options) {
  const CheckCounts& counts = explanation.counts();
  Json traffic = Json::object();
  for (std::size_t i = 0; i < counts.traffic.size(); ++i) {
    const auto kind = static_cast<capture::Traffic>(i);
    traffic[std::string(capture::to_string(kind))] = counts.traffic[i];
  }
  return {{"file", options.file},
          {"complete", options.complete},
          {"frames", counts.frames},
          {"begins_ns", explanation.begin().time_since_epoch().count()},
          {"duration_ns", explanation.duration().count()},
          {"traffic", traffic},
          {"frames_cut", counts.cut},
          {"headers_cut", counts.headers_cut},
          {"icrc",
           {{"right", counts.icrc_good},
            {"wrong", counts.icrc_bad},
            {"unverified", counts.icrc_unverified}}},
          {"messages", explanation.message_count()},
          {"faults", counts.faults},
          {"findings", findings_json(explanation.findings())}};
}

// Of all connections; null when there is none.
Json first_fault_json(const Explanation& explanation) {
  const ConnectionAccount* first = nullptr;
  std::uint32_t connection = 0;
  for (const std::uint32_t i : explanation.connections()) {
    const ConnectionAccount& account = explanation.account(i);
    if (account.found->first_fault == 0) continue;
    if (first != nullptr && first->found->first_fault < account.found->first_fault) continue;
    first = &account;
    connection = i;
  }
  if (first == nullptr) return nullptr;
  return {{"frame", first->found->first_fault},
          {"connection", connection},
          {"kind", analysis::info(first->found->first_fault_kind).name}};
}

// What the summary points at is in the list, whatever its weight.
void add_pointed_at(std::vector<std::uint32_t>& shown, const Explanation& explanation,
                    const Json& first_fault) {
  std::vector<std::uint32_t> wanted;
  for (const Moment& moment : explanation.worst_moments().moments()) {
    if (moment.connection != analysis::kNone) wanted.push_back(moment.connection);
  }
  if (!first_fault.is_null()) wanted.push_back(first_fault["connection"].get<std::uint32_t>());
  for (const std::uint32_t one : wanted) {
    if (std::find(shown.begin(), shown.end(), one) == shown.end()) shown.push_back(one);
  }
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(const std::function<void(std::string_view)>& write) : write_(write) {}

  void member(const std::string& name, const Json& value) {
    begin_member(name);
    write_(dump(value));
  }
  template <class List, class ToJson>
  void list(const std::string& name, const List& items, const ToJson& to_json) {
    begin_member(name);
    write_("[");
    bool first = true;
    for (const auto& item : items) {
      write_(first ? "\n    " : ",\n    ");
      first = false;
      write_(dump(to_json(item)));
    }
    write_(first ? "]" : "\n  ]");
  }
  void end() { write_(first_ ? "{}\n" : "\n}\n"); }

 private:
  void begin_member(const std::string& name) {
    write_(first_ ? "{\n  " : ",\n  ");
    first_ = false;
    write_(dump(Json(name)));
    write_(": ");
  }

  const std::function<void(std::string_view)>& write_;
  bool first_ = true;
};

}  // namespace

void write_json(const Explanation& explanation, const JsonOptions& options,
                const std::function<void(std::string_view)>& write) {
  std::vector<std::uint32_t> shown =
      explanation.by_importance(std::max(Explanation::kDetails, options.most_connections));
  const std::size_t all = shown.size();
  const Json first_fault = first_fault_json(explanation);
  std::vector<std::uint32_t> detailed(
      shown.begin(),
      shown.begin() + static_cast<std::ptrdiff_t>(std::min(all, Explanation::kDetails)));
  std::sort(detailed.begin(), detailed.end());
  if (options.most_connections != 0 && all > options.most_connections) {
    shown.resize(options.most_connections);
    add_pointed_at(shown, explanation, first_fault);
  }
  std::sort(shown.begin(), shown.end());

  Writer out(write);
  const Json head = summary(explanation, options);
  for (const auto& [name, value] : head.items()) out.member(name, value);
  out.member("first_fault", first_fault);
  out.member("connection_count", all);
  const Throughput& total = explanation.throughput();
  std::vector<std::uint64_t> sum = total.bytes(0);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += total.bytes(1)[i];
  out.member("throughput", {{"bin_ns", total.bin().count()}, {"bytes", sum}});
  Json operations = Json::array();
  for (const OperationAccount& one : explanation.operations()) {
    operations.push_back({{"operation", operation_name(one.operation)},
                          {"messages", one.messages},
                          {"bytes", one.bytes},
                          {"completed", one.completed()},
                          {"refused", one.refused()},
                          {"unanswered", one.unanswered()},
                          {"partial", one.partial()},
                          {"latency_ns", latency_json(one.latency)}});
  }
  out.member("operations", operations);
  out.list("worst_moments", explanation.worst_moments().moments(),
           [&](const Moment& moment) { return moment_json(explanation, moment); });
  out.member("loss_count", explanation.loss_count());
  out.list("losses", explanation.losses(),
           [&](const Loss& loss) { return loss_json(explanation, loss); });
  out.list("connections", shown, [&](std::uint32_t index) {
    const bool detail = std::binary_search(detailed.begin(), detailed.end(), index);
    return ConnectionJson(explanation, index, detail).object();
  });
  out.end();
}

std::string to_json(const Explanation& explanation, const JsonOptions& options) {
  std::string text;
  write_json(explanation, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace softrnic::explain
