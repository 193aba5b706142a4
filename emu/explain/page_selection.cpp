// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page_selection.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "explain/page_table.hpp"
#include "explain/page_text.hpp"

namespace softrnic::explain {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlots[] = {"sequence", "throughput", "ladder"};

bool says_nothing(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty()) ||
         (value.is_number() && value == 0);
}

// Objects lose what says nothing; lists keep their places.
Json terse(const Json& value) {
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& element : value) out.push_back(terse(element));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [name, member] : value.items()) {
    Json kept = terse(member);
    // An id of 0 is a name and no count.
    if (name == "id" || !says_nothing(kept)) out[name] = std::move(kept);
  }
  return out;
}

std::size_t size_of(const Json& json) {
  return json_for_script(json).size();
}

void drop_plots(Json& connection) {
  for (const char* plot : kPlots) connection.erase(plot);
  if (!member_of(connection, "operations").is_array()) return;
  for (Json& operation : connection["operations"]) {
    if (operation.is_object()) operation.erase("histogram");
  }
}

// The most important first.
std::vector<std::size_t> by_importance(const Json& connections) {
  using Weight = std::tuple<bool, bool, std::uint64_t>;
  std::vector<Weight> weights;
  weights.reserve(connections.size());
  for (const Json& connection : connections) {
    std::uint64_t bytes = 0;
    for (const Json& direction : member_of(connection, "directions")) {
      bytes += number_in(direction, "payload_bytes");
    }
    weights.emplace_back(!member_of(connection, "sequence").empty(),
                         !member_of(connection, "findings").empty(), bytes);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return order;
}

}  // namespace

Json page_selection(const Json& explanation, const PageRoom& room) {
  const Json& connections = member_of(explanation, "connections");
  std::vector<std::pair<std::size_t, Json>> kept;  // place in the list, connection
  std::size_t plots = 0;
  std::size_t all = 0;
  for (const std::size_t place : by_importance(connections)) {
    Json connection = terse(connections[place]);
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
    if (all + rest > room.all - room.plots && !kept.empty()) break;
    all += rest;
    kept.emplace_back(place, std::move(connection));
  }
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });

  Json out = explanation.is_object() ? Json::object() : Json();
  if (!out.is_object()) return out;
  for (const auto& [name, member] : explanation.items()) {
    if (name != "connections") out[name] = member;
  }
  if (!out.contains("connections_total")) out["connections_total"] = connections.size();
  out["connections"] = Json::array();
  for (auto& [place, connection] : kept) out["connections"].push_back(std::move(connection));
  return out;
}

}  // namespace softrnic::explain
