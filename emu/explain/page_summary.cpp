// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page_summary.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "explain/page_table.hpp"
#include "explain/page_text.hpp"

namespace softrnic::explain {

namespace {

using Json = nlohmann::ordered_json;

std::string tile(std::string_view name, const std::string& value, const std::string& more) {
  return fmt::format("<dl class=\"tile\"><dt>{}</dt><dd>{}{}</dd></dl>\n", name, escaped(value),
                     more.empty() ? "" : "<small>" + escaped(more) + "</small>");
}

std::string date(std::int64_t since_1970_ns) {
  if (since_1970_ns <= 0) return {};
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::time_t seconds = since_1970_ns / kSecond;
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return {};
  return fmt::format("from {:%Y-%m-%d %H:%M:%S}.{:03} UTC", utc,
                     since_1970_ns % kSecond / 1'000'000);
}

// What a kind of traffic is called: "roce_v2" as RoCE v2, "arp" as ARP, "other_ip" as other IP.
std::string traffic_name(std::string_view kind) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"roce_v1", "RoCE v1"}, {"roce_v2", "RoCE v2"}, {"arp", "ARP"},          {"icmp", "ICMP"},
      {"tcp", "TCP"},         {"udp", "UDP"},         {"other_ip", "other IP"}};
  for (const auto& [name, text] : kNames) {
    if (name == kind) return std::string(text);
  }
  return std::string(kind);
}

std::string traffic_text(const Json& traffic) {
  std::string text;
  for (const auto& [kind, count] : traffic.items()) {
    if (!count.is_number() || count.get<std::uint64_t>() == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count.get<std::uint64_t>()),
                        traffic_name(kind));
  }
  return text;
}

std::string icrc_tile(const Json& icrc) {
  const std::uint64_t wrong = number_in(icrc, "wrong");
  const std::uint64_t unverified = number_in(icrc, "unverified");
  std::string more = grouped(number_in(icrc, "right")) + " right";
  if (unverified != 0) more += ", " + grouped(unverified) + " unverified";
  return tile("ICRC", wrong == 0 ? "none wrong" : grouped(wrong) + " wrong", more);
}

std::string tiles(const Json& explanation) {
  const Json& connections = member_of(explanation, "connections");
  const std::uint64_t shown = connections.size();
  const std::uint64_t all = number_in(explanation, "connection_count", shown);
  std::uint64_t lost = 0;
  std::uint64_t again = 0;
  std::uint64_t payload = 0;
  for (const Json& connection : connections) {
    lost += number_in(member_of(connection, "losses"), "packets");
    for (const Json& direction : member_of(connection, "directions")) {
      again += number_in(direction, "retransmitted_packets");
      payload += number_in(direction, "payload_bytes");
    }
  }
  const std::uint64_t faults = number_in(explanation, "faults");
  std::string out = "<div class=\"tiles\">\n";
  out += tile("Frames", grouped(number_in(explanation, "frames")),
              traffic_text(member_of(explanation, "traffic")));
  out += tile("Duration", page_duration(time_in(explanation, "duration_ns")),
              date(time_in(explanation, "begins_ns")));
  out += tile("Connections", grouped(all), shown < all ? grouped(shown) + " shown here" : "");
  out += tile("Payload", page_bytes(payload), "of the connections below");
  out += tile("Lost", grouped(lost), count_of(again, "packet") + " sent again");
  out += icrc_tile(member_of(explanation, "icrc"));
  out += tile("Faults", faults == 0 ? "none" : grouped(faults), "");
  return out + "</div>\n";
}

// " (connection 3: A to B)", for a fault or moment that belongs to one.
std::string where(const Json& explanation, const Json& event) {
  std::string text;
  if (member_of(event, "at_ns").is_number()) {
    text = "after " + page_duration(time_in(event, "at_ns")) + ", ";
  }
  const Json& id = member_of(event, "connection");
  if (!id.is_number()) return text + "of no connection";
  for (const Json& connection : member_of(explanation, "connections")) {
    if (member_of(connection, "id") != id) continue;
    return text + fmt::format("connection {}: {} ↔ {}", id.get<std::uint64_t>(),
                              end_text(connection, 0), end_text(connection, 1));
  }
  return text + fmt::format("connection {}", id.get<std::uint64_t>());
}

std::string sentence_of(const Json& event) {
  for (const char* member : {"what", "sentence", "kind"}) {
    const std::string text = text_in(event, member);
    if (!text.empty()) return capitalized(text);
  }
  return {};
}

std::string first_fault(const Json& explanation) {
  const Json& fault = member_of(explanation, "first_fault");
  if (!fault.is_object()) {
    return "<p class=\"callout good\"><strong>No fault.</strong> Every frame of the connections "
           "below keeps the rules, and nothing was lost or refused.</p>\n";
  }
  const bool error = text_in(fault, "severity") == "error";
  return fmt::format(
      "<p class=\"callout {0}\"><strong>First {0}:</strong>"
      "<a href=\"#first-fault\">frame {1}</a> {2} <span class=\"where\">{3}</span></p>\n",
      error ? "error" : "warning", number_in(fault, "frame"), escaped(sentence_of(fault)),
      escaped(where(explanation, fault)));
}

std::string moment(const Json& explanation, const Json& event, std::size_t rank) {
  std::string more;
  const std::string standard = text_in(event, "standard");
  const std::string look_at = text_in(event, "look_at");
  if (!standard.empty()) more += "<span class=\"where\">" + escaped(standard) + "</span>";
  if (!look_at.empty()) more += "<span class=\"look\">→ " + escaped(look_at) + "</span>";
  const std::int64_t cost = time_in(event, "time_lost_ns");
  return fmt::format(
      "<li id=\"worst-{0}\"><span class=\"rank\">{0}</span><div><a href=\"#moment-{0}\">{1}</a>"
      "{2}<span class=\"where\">Frame {3}, {4}{5}</span></div></li>\n",
      rank, escaped(sentence_of(event)), more, number_in(event, "frame"),
      escaped(where(explanation, event)),
      cost > 0 ? "; took " + page_duration(cost) : std::string());
}

std::string worst_moments(const Json& explanation) {
  const Json& moments = member_of(explanation, "worst_moments");
  if (moments.empty()) return {};
  std::string out = "<div class=\"stack\"><h2>Worst moments</h2>\n<ol class=\"moments\">\n";
  std::size_t rank = 0;
  for (const Json& event : moments) out += moment(explanation, event, ++rank);
  return out + "</ol></div>\n";
}

}  // namespace

std::string page_summary(const Json& explanation) {
  std::string out = tiles(explanation);
  if (member_of(explanation, "complete") == false) {
    out +=
        "<p class=\"callout warning\"><strong>Incomplete.</strong> The file was not read to its "
        "end; this covers what could be read.</p>\n";
  }
  return out + first_fault(explanation) + worst_moments(explanation);
}

}  // namespace softrnic::explain
