// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "explain/page_text.hpp"

namespace softrnic::explain {

namespace {

using Json = nlohmann::ordered_json;

// What is counted for one connection, both directions together.
struct Totals {
  std::uint64_t packets = 0;
  std::uint64_t payload = 0;
  std::uint64_t goodput = 0;
  std::uint64_t messages = 0;
  std::uint64_t again = 0;
  std::uint64_t lost = 0;
  std::uint64_t congestion = 0;
  std::uint64_t naks = 0;
  std::uint64_t faults = 0;
};

// Syndromes 0x20 to 0x3f are RNR NAKs, which have a column of their own.
std::uint64_t naks_in(const Json& by_syndrome) {
  std::uint64_t sum = 0;
  for (const auto& [syndrome, count] : by_syndrome.items()) {
    const bool rnr = syndrome.starts_with("0x2") || syndrome.starts_with("0x3");
    if (!rnr && count.is_number()) sum += count.get<std::uint64_t>();
  }
  return sum;
}

Totals totals_of(const Json& connection) {
  Totals totals;
  for (const Json& direction : member_of(connection, "directions")) {
    totals.packets += number_in(direction, "packets");
    totals.payload += number_in(direction, "payload_bytes");
    totals.goodput += number_in(direction, "goodput_bytes");
    totals.messages += number_in(direction, "messages");
    totals.again += number_in(direction, "retransmitted_packets");
    totals.congestion += number_in(direction, "ecn_marked") + number_in(direction, "cnps");
  }
  totals.lost = number_in(member_of(connection, "losses"), "packets");
  totals.naks = naks_in(member_of(connection, "naks"));
  totals.faults = number_in(connection, "faults");
  return totals;
}

std::string number_cell(std::uint64_t value, const std::string& text, bool bad) {
  // The text says the value itself when it is nothing but its digits.
  const std::string digits = std::to_string(value);
  return fmt::format("<td class=\"n{}\"{}>{}</td>",
                     value == 0 ? " z"
                     : bad      ? " bad"
                                : "",
                     text == digits ? "" : " data-value=\"" + digits + "\"", text);
}

std::string count_cell(std::uint64_t value, bool bad = false) {
  return number_cell(value, grouped(value), bad);
}

std::string state_cell(const Json& connection) {
  const std::string ended = text_in(connection, "ended");
  const bool bad = ended == "refused" || ended == "exhausted";
  return fmt::format("<td><span class=\"tag{}\">{}</span></td>", bad ? " bad" : "", escaped(ended));
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

struct Column {
  std::string_view name;
  bool numeric;
};

constexpr std::array kColumns{
    Column{"#", true},        Column{"one end", false}, Column{"other end", false},
    Column{"service", false}, Column{"state", false},   Column{"packets", true},
    Column{"messages", true}, Column{"payload", true},  Column{"lasts", true},
    Column{"goodput", true},  Column{"lost", true},     Column{"resent", true},
    Column{"NAK", true},      Column{"RNR", true},      Column{"ECN/CNP", true},
    Column{"faults", true}};

std::string heading() {
  std::string out = "<thead><tr>";
  for (const Column& column : kColumns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.numeric ? " class=\"n\"" : "",
                       column.name);
  }
  return out + "</tr></thead>\n";
}

}  // namespace

std::string table_row(const Json& connection) {
  const std::uint64_t id = number_in(connection, "id");
  const Totals totals = totals_of(connection);
  const std::int64_t span =
      std::max<std::int64_t>(time_in(connection, "ends_ns") - time_in(connection, "begins_ns"), 0);
  const double rate =
      span > 0 ? static_cast<double>(totals.goodput) * 8e9 / static_cast<double>(span) : 0;
  std::string out = fmt::format(
      "<tr id=\"connection-{0}\" data-connection=\"{0}\" data-faults=\"{1}\">"
      "<th scope=\"row\" class=\"n\"><a href=\"#connection-{0}\">{0}</a></th>"
      "<td class=\"mono\">{2}</td><td class=\"mono\">{3}</td><td>{4} {5}</td>",
      id, totals.faults, escaped(end_text(connection, 0)), escaped(end_text(connection, 1)),
      escaped(upper(text_in(connection, "service"))), escaped(text_in(connection, "version")));
  out += state_cell(connection);
  out += count_cell(totals.packets) + count_cell(totals.messages);
  out += number_cell(totals.payload, page_bytes(totals.payload), false);
  out += number_cell(static_cast<std::uint64_t>(span), page_duration(span), false);
  out += number_cell(static_cast<std::uint64_t>(rate), rate > 0 ? page_rate(rate) : "–", false);
  out += count_cell(totals.lost, true) + count_cell(totals.again, true);
  out += count_cell(totals.naks, true);
  out += count_cell(number_in(member_of(connection, "rnr"), "naks"), true);
  out += count_cell(totals.congestion) + count_cell(totals.faults);
  return out + "</tr>\n";
}

std::string end_text(const Json& connection, std::size_t side) {
  const Json& ends = member_of(connection, "ends");
  if (!ends.is_array() || ends.size() <= side) return "unknown";
  constexpr std::uint64_t kNoQpn = 1U << 24;
  const std::uint64_t qpn = number_in(ends[side], "qpn", kNoQpn);
  const std::string address = text_in(ends[side], "address");
  return fmt::format("{} QP {}", address.empty() ? "unknown" : address,
                     qpn < kNoQpn ? fmt::format("0x{:06x}", qpn) : "unknown");
}

std::string page_table(const Json& explanation) {
  const Json& connections = member_of(explanation, "connections");
  std::string out = "<h2 id=\"connections-title\">Connections</h2>\n";
  if (connections.empty()) return out + "<p class=\"note\">There is no RoCE in this file.</p>\n";
  const std::uint64_t all = number_in(explanation, "connection_count", connections.size());
  if (connections.size() < all) {
    out += fmt::format(
        "<p class=\"note\">{} of {} connections: those with faults, then those that carried most. "
        "<code>softrnic explain --json</code> has them all.</p>\n",
        grouped(connections.size()), grouped(all));
  }
  out += "<div class=\"filters\" id=\"connection-filters\" hidden></div>\n";
  out +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of connections\">\n";
  out += "<table id=\"connection-table\">\n" + heading() + "<tbody>\n";
  for (const Json& connection : connections) out += table_row(connection);
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace softrnic::explain
