// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page_selection.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/finding.hpp"
#include "explain/page_table.hpp"
#include "explain/page_text.hpp"

namespace softrnic::explain {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPlots[] = {"sequence", "throughput", "ladder"};

bool says_nothing(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty()) ||
         (value.is_number() && value == 0);
}

bool is_plot(const std::string& name) {
  return std::find(std::begin(kPlots), std::end(kPlots), name) != std::end(kPlots);
}

// Objects lose the counts that say nothing; lists keep their places, and plots all they have.
Json terse(const Json& value) {
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& element : value) out.push_back(terse(element));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [name, member] : value.items()) {
    Json kept = is_plot(name) ? member : terse(member);
    // These are names and no counts, also when they are 0.
    const bool is_name = name == "id" || name == "from" || name == "connection";
    if (is_name || !says_nothing(kept)) out[name] = std::move(kept);
  }
  return out;
}

std::size_t size_of(const Json& json) {
  return json_for_script(json).size();
}

void drop_plots(Json& connection) {
  for (const std::string_view plot : kPlots) connection.erase(std::string(plot));
  if (!member_of(connection, "operations").is_array()) return;
  for (Json& operation : connection["operations"]) {
    if (operation.is_object()) operation.erase("histogram");
  }
}

// The most important first.
std::vector<std::size_t> by_importance(const Json& connections,
                                       const std::set<std::uint64_t>& pointed_at) {
  using Weight = std::tuple<bool, bool, bool, std::uint64_t>;
  std::vector<Weight> weights;
  weights.reserve(connections.size());
  for (const Json& connection : connections) {
    std::uint64_t bytes = 0;
    for (const Json& direction : member_of(connection, "directions")) {
      bytes += number_in(direction, "payload_bytes");
    }
    weights.emplace_back(pointed_at.contains(number_in(connection, "id")),
                         !member_of(connection, "sequence").empty(),
                         number_in(connection, "faults") != 0, bytes);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return order;
}

// Connections that the summary has links to.
std::set<std::uint64_t> pointed_at_in(const Json& explanation) {
  std::set<std::uint64_t> ids;
  for (const Json& moment : member_of(explanation, "worst_moments")) {
    if (member_of(moment, "connection").is_number()) ids.insert(number_in(moment, "connection"));
  }
  const Json& fault = member_of(explanation, "first_fault");
  if (fault.is_object()) ids.insert(number_in(fault, "connection"));
  return ids;
}

// The ladder's packet of a frame; null when it is not there.
const Json& ladder_packet(const Json& connection, std::uint64_t frame) {
  for (const Json& packet : member_of(connection, "ladder")) {
    if (number_in(packet, "frame") == frame) return packet;
  }
  return member_of(connection, "");
}

// What of a connection's first fault is known elsewhere: its time, sentence and severity.
void complete_first_fault(Json& connection) {
  if (!member_of(connection, "first_fault").is_object()) return;
  const Json packet = ladder_packet(connection, number_in(connection["first_fault"], "frame"));
  Json& fault = connection["first_fault"];
  fault["connection"] = number_in(connection, "id");
  const std::string kind = text_in(fault, "kind");
  for (const analysis::FindingInfo& info : analysis::all_findings()) {
    if (info.name != kind) continue;
    if (!fault.contains("severity")) fault["severity"] = analysis::to_string(info.severity);
    const bool same = text_in(packet, "finding") == kind;
    if (!fault.contains("sentence")) {
      fault["sentence"] = same ? text_in(packet, "sentence") : std::string(info.title);
    }
  }
  if (!fault.contains("at_ns") && packet.is_object()) fault["at_ns"] = time_in(packet, "t_ns");
}

// The first of them all; null when there is none.
Json first_fault_of(const Json& connections) {
  const Json* first = nullptr;
  for (const Json& connection : connections) {
    const Json& fault = member_of(connection, "first_fault");
    if (!fault.is_object()) continue;
    const bool earlier = first == nullptr || number_in(fault, "frame") < number_in(*first, "frame");
    if (earlier) first = &fault;
  }
  return first == nullptr ? Json() : *first;
}

// The first fault of the whole, with what its connection's account knows of it.
void complete_from_connection(Json& out) {
  const Json known = first_fault_of(out["connections"]);
  if (!out.contains("first_fault")) out["first_fault"] = known;
  Json& fault = out["first_fault"];
  if (!fault.is_object() || !known.is_object()) return;
  if (number_in(known, "frame") == number_in(fault, "frame")) fault.update(known);
}

// Those of connections with plots, the first of them as far as they fit.
Json losses_of(const Json& losses, const Json& connections, std::size_t room) {
  std::set<std::uint64_t> plotted;
  for (const Json& connection : connections) {
    if (connection.contains("sequence")) plotted.insert(number_in(connection, "id"));
  }
  Json kept = Json::array();
  for (const Json& loss : losses) {
    if (!plotted.contains(number_in(loss, "connection"))) continue;
    Json one = terse(loss);
    const std::size_t size = size_of(one);
    if (size > room) break;
    room -= size;
    kept.push_back(std::move(one));
  }
  return kept;
}

}  // namespace

Json page_selection(const Json& explanation, const PageRoom& room) {
  const Json& connections = member_of(explanation, "connections");
  std::vector<std::pair<std::size_t, Json>> kept;  // place in the list, connection
  std::size_t plots = 0;
  std::size_t all = 0;
  for (const std::size_t place : by_importance(connections, pointed_at_in(explanation))) {
    Json connection = terse(connections[place]);
    complete_first_fault(connection);
    const std::size_t whole = size_of(connection);
    Json light = connection;
    drop_plots(light);
    const std::size_t rest = size_of(light) + table_row(light).size();
    const std::size_t of_plots = whole - size_of(light);
    if (plots + of_plots > room.plots) {
      connection = std::move(light);
    } else {
      plots += of_plots;
    }
    if (all + rest + plots > room.all && !kept.empty()) break;
    all += rest;
    kept.emplace_back(place, std::move(connection));
  }
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });

  Json out = explanation.is_object() ? Json::object() : Json();
  if (!out.is_object()) return out;
  for (const auto& [name, member] : explanation.items()) {
    if (name != "connections" && name != "losses") out[name] = member;
  }
  if (!out.contains("connection_count")) out["connection_count"] = connections.size();
  out["connections"] = Json::array();
  for (auto& [place, connection] : kept) out["connections"].push_back(std::move(connection));
  complete_from_connection(out);
  const Json& losses = member_of(explanation, "losses");
  if (losses.is_array()) out["losses"] = losses_of(losses, out["connections"], room.losses);
  return out;
}

}  // namespace softrnic::explain
