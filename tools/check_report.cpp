// SPDX-License-Identifier: BSD-3-Clause
#include "check_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "one_line.hpp"

namespace softrnic::tools {
namespace {

using analysis::Severity;
using capture::CaptureCheck;
using capture::CheckCounts;
using capture::Fault;
using capture::Traffic;
using Json = nlohmann::ordered_json;

std::string count_of(std::uint64_t n, std::string_view one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string duration(wire::Duration time) {
  const auto seconds = static_cast<double>(time.count()) / 1e9;
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} us", seconds * 1e6);
}

// "3 ARP, 2 TCP": what is not RoCE.
std::string others(const CheckCounts& counts) {
  struct Name {
    Traffic traffic;
    std::string_view text;
  };
  constexpr Name kNames[] = {{Traffic::arp, "ARP"},
                             {Traffic::icmp, "ICMP"},
                             {Traffic::tcp, "TCP"},
                             {Traffic::udp, "other UDP"},
                             {Traffic::other_ip, "other IP"},
                             {Traffic::other, "other"},
                             {Traffic::unknown, "cut too short to tell"}};
  std::vector<std::string> parts;
  for (const auto& [traffic, text] : kNames) {
    if (counts.of(traffic) != 0) parts.push_back(fmt::format("{} {}", counts.of(traffic), text));
  }
  return join(parts);
}

std::string traffic_line(const CaptureCheck& check, const std::string& path) {
  const CheckCounts& counts = check.counts();
  std::string line = fmt::format("{}: {}", one_line(path), count_of(counts.frames, "frame"));
  if (counts.frames == 0) return line + ": there is nothing to check\n";
  if (counts.roce() == 0) return fmt::format("{}, none of them RoCE ({})\n", line, others(counts));
  std::vector<std::string> parts;
  if (counts.of(Traffic::roce_v2) != 0) {
    parts.push_back(fmt::format("{} RoCE v2", counts.of(Traffic::roce_v2)));
  }
  if (counts.of(Traffic::roce_v1) != 0) {
    parts.push_back(fmt::format("{} RoCE v1", counts.of(Traffic::roce_v1)));
  }
  if (counts.of(Traffic::infiniband) != 0) {
    parts.push_back(fmt::format("{} native InfiniBand", counts.of(Traffic::infiniband)));
  }
  if (counts.frames != counts.roce()) parts.push_back(others(counts));
  return fmt::format("{}: {}; {} in {}\n", line, join(parts),
                     count_of(check.analyzer().stream_count(), "stream"),
                     duration(check.duration()));
}

std::string icrc_line(const CheckCounts& counts) {
  if (counts.roce() == 0) return {};
  std::vector<std::string> parts;
  if (counts.icrc_good != 0) parts.push_back(fmt::format("{} right", counts.icrc_good));
  if (counts.icrc_bad != 0) parts.push_back(fmt::format("{} wrong", counts.icrc_bad));
  if (counts.icrc_unverified != 0) {
    parts.push_back(fmt::format("{} unverified", counts.icrc_unverified));
  }
  std::string line = fmt::format("ICRC: {}\n", join(parts));
  if (counts.cut != 0) {
    line += fmt::format("Cut by a snap length: {}", count_of(counts.cut, "frame"));
    if (counts.headers_cut != 0) {
      line += fmt::format(", {} of them within the RoCE headers and so not analysed",
                          counts.headers_cut);
    }
    line += '\n';
  }
  return line;
}

std::string mirror_line(const CaptureCheck& check) {
  const CheckCounts& counts = check.counts();
  if (!check.mirrored()) {
    const std::string signs = check.signs_of_mirror();
    if (signs.empty()) return {};
    return fmt::format("This looks like a switch's mirror, as {}: --mirrored judges it as one\n",
                       signs);
  }
  std::vector<std::string> parts;
  if (counts.copies != 0) {
    parts.push_back(fmt::format("{} {} of a frame that is there already", counts.copies,
                                counts.copies == 1 ? "copy" : "copies"));
  }
  if (counts.gaps != 0) parts.push_back(count_of(counts.gaps, "place") + " where packets lack");
  if (counts.late != 0) parts.push_back(count_of(counts.late, "packet") + " behind later ones");
  if (check.one_way_streams() != 0) {
    parts.push_back(count_of(check.one_way_streams(), "stream") + " in one direction only");
  }
  if (counts.tunnelled != 0) parts.push_back(count_of(counts.tunnelled, "packet") + " in tunnels");
  return fmt::format("Mirrored: {}\n", parts.empty() ? "nothing that shows it" : join(parts));
}

std::string faults_line(const CheckCounts& counts) {
  if (counts.faults == 0) return counts.roce() == 0 ? "" : "No faults\n";
  return fmt::format("{}: {}, {}\n", count_of(counts.faults, "fault"),
                     count_of(counts.errors, "error"),
                     count_of(counts.faults - counts.errors, "warning"));
}

Json object_of(const Fault& fault) {
  Json json{{"frame", fault.frame},
            {"time_ns", fault.time.time_since_epoch().count()},
            {"severity", analysis::to_string(fault.severity)},
            {"kind", fault.kind},
            {"sentence", fault.sentence},
            {"source", fault.source.to_string()},
            {"destination", fault.destination.to_string()},
            {"destination_qpn", fault.qpn}};
  json["related_frame"] = fault.related == 0 ? Json(nullptr) : Json(fault.related);
  json["stream"] = fault.stream == analysis::kNone ? Json(nullptr) : Json(fault.stream);
  return json;
}

}  // namespace

std::string fault_text(const Fault& fault) {
  return fmt::format("frame {}: {} -> {} QP 0x{:06x}: {} [{}: {}]\n", fault.frame,
                     fault.source.to_string(), fault.destination.to_string(), fault.qpn,
                     fault.sentence, analysis::to_string(fault.severity), fault.kind);
}

std::string fault_json(const Fault& fault, bool first) {
  const std::string text = object_of(fault).dump(2, ' ', false, Json::error_handler_t::replace);
  std::string indented = first ? "\n    " : ",\n    ";
  for (const char c : text) {
    indented += c;
    if (c == '\n') indented += "    ";
  }
  return indented;
}

CheckReport check_text(const CaptureCheck& check, const std::string& path, bool complete) {
  const CheckCounts& counts = check.counts();
  CheckReport report;
  report.before = traffic_line(check, path) + icrc_line(counts) + mirror_line(check);
  if (!complete) report.before += "Not read to the end: this is what was seen until then\n";
  report.before += faults_line(counts);
  const std::uint64_t left = counts.faults - check.kept();
  if (left != 0) report.after = fmt::format("and {} more (--all shows them)\n", left);
  return report;
}

CheckReport check_json(const CaptureCheck& check, const std::string& path, bool complete) {
  const CheckCounts& counts = check.counts();
  Json traffic = Json::object();
  for (std::size_t i = 0; i < counts.traffic.size(); ++i) {
    traffic[std::string(capture::to_string(static_cast<Traffic>(i)))] = counts.traffic[i];
  }
  Json mirror = nullptr;
  if (check.mirrored()) {
    mirror = {{"copies", counts.copies}, {"gaps", counts.gaps}, {"late", counts.late}};
  }
  const Json json{{"file", path},
                  {"complete", complete},
                  {"frames", counts.frames},
                  {"traffic", traffic},
                  {"frames_cut", counts.cut},
                  {"headers_cut", counts.headers_cut},
                  {"icrc",
                   {{"right", counts.icrc_good},
                    {"wrong", counts.icrc_bad},
                    {"unverified", counts.icrc_unverified}}},
                  {"streams", check.analyzer().stream_count()},
                  {"messages", check.analyzer().message_count()},
                  {"duration_ns", check.duration().count()},
                  {"one_way_streams", check.one_way_streams()},
                  {"tunnelled", counts.tunnelled},
                  {"looks_mirrored", !check.signs_of_mirror().empty()},
                  {"mirror", mirror},
                  {"errors", counts.errors},
                  {"warnings", counts.faults - counts.errors}};
  // The faults are the last member, put in as they are.
  CheckReport report;
  report.before = json.dump(2, ' ', false, Json::error_handler_t::replace);
  report.before.resize(report.before.rfind('\n'));
  report.before += ",\n  \"faults\": [";
  report.after = check.kept() == 0 ? "]\n}\n" : "\n  ]\n}\n";
  return report;
}

}  // namespace softrnic::tools
