// SPDX-License-Identifier: BSD-3-Clause
#include "edit_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "one_line.hpp"

namespace softrnic::tools {
namespace {

using edit::EditCounts;
using edit::Quantity;

struct Changed {
  std::string_view key;     // in JSON
  std::string_view plural;  // in text
  std::uint64_t count;
};

std::vector<Changed> changes(const EditCounts& c) {
  std::vector<Changed> all{{"mac", "MAC addresses", c.macs},
                           {"vlan", "VLAN tags", c.vlans},
                           {"ip", "IP addresses", c.addresses},
                           {"roce", "RoCE versions", c.versions},
                           {"psn", "PSNs", c.psns},
                           {"address", "remote addresses", c.virtual_addresses}};
  for (std::size_t i = 0; i < c.numbers.size(); ++i) {
    const auto quantity = static_cast<Quantity>(i);
    all.push_back({edit::word_of(quantity), edit::plural_name(quantity), c.numbers[i]});
  }
  all.push_back({"payload", "payloads", c.payloads});
  all.push_back({"rule", "frames by rules", c.ruled});
  return all;
}

std::string frames(std::uint64_t count) {
  return fmt::format("{} frame{}", count, count == 1 ? "" : "s");
}

void add_remarks(std::string& text, const EditCounts& c) {
  const auto remark = [&text](std::uint64_t count, std::string_view words) {
    if (count != 0) text += fmt::format("  {} {}\n", frames(count), words);
  };
  remark(c.wrong_icrc, "had a wrong ICRC before");
  remark(c.cut, "cut by a snap length: edited as far as they go");
  remark(c.headers_cut, "of RoCE end before the BTH: the network headers alone were edited");
  remark(c.flow_unknown, "with PSNs whose flow the capture does not tell: left as they are");
  remark(c.no_other_version,
         "that are not RoCE have no form in the other IP version: left as they are");
  remark(c.identifications, "lost the IPv4 identification, which has no place in the new header");
  remark(c.not_ethernet, "of another link than Ethernet in ERF records: left out");
}

}  // namespace

std::string edit_text(const EditCounts& c, const std::string& from, const std::string& to) {
  std::string text = fmt::format("{}: {}: {} RoCE, {} other, {} left out\n", one_line(from),
                                 frames(c.frames), c.roce, c.other, c.left_out);
  text +=
      to.empty()
          ? fmt::format("  {} would be written, {} of them changed\n", frames(c.written), c.changed)
          : fmt::format("{}: {}, {} of them changed\n", one_line(to), frames(c.written), c.changed);
  for (const Changed& change : changes(c)) {
    if (change.count != 0) text += fmt::format("  {} {}\n", change.count, change.plural);
  }
  if (c.segmented) {
    text +=
        fmt::format("  {} messages in {} packets for {}", c.messages, c.packets_out, c.packets_in);
    if (c.messages_left_out != 0) text += fmt::format(", {} left out", c.messages_left_out);
    text += '\n';
  }
  add_remarks(text, c);
  return text;
}

std::string edit_json(const EditCounts& c, const std::string& from, const std::string& to) {
  nlohmann::ordered_json report;
  report["file"] = from;
  report["out"] = to.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(to);
  report["frames"] = c.frames;
  report["left_out"] = c.left_out;
  report["written"] = c.written;
  report["changed"] = c.changed;
  report["roce"] = c.roce;
  report["other"] = c.other;
  report["frames_cut"] = c.cut;
  report["wrong_icrc"] = c.wrong_icrc;
  auto& values = report["values"] = nlohmann::ordered_json::object();
  for (const Changed& change : changes(c)) values[std::string(change.key)] = change.count;
  if (c.segmented) {
    report["messages"] = {{"kept", c.messages},
                          {"left_out", c.messages_left_out},
                          {"packets_in", c.packets_in},
                          {"packets_out", c.packets_out}};
  }
  auto& not_done = report["not_done"] = nlohmann::ordered_json::object();
  not_done["headers_cut"] = c.headers_cut;
  not_done["flow_unknown"] = c.flow_unknown;
  not_done["no_other_ip_version"] = c.no_other_version;
  not_done["identification_lost"] = c.identifications;
  not_done["not_ethernet"] = c.not_ethernet;
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace softrnic::tools
