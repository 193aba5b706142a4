// SPDX-License-Identifier: BSD-3-Clause
#include "counters_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace softrnic::tools {

std::string counters_text(const transport::Counters& counters, int indent) {
  std::string text;
  for (const auto& [name, value] : transport::counter_names()) {
    if (counters.*value == 0) continue;
    text += fmt::format("{:{}}{:<32}{:>12}\n", "", indent, name, counters.*value);
  }
  return text;
}

nlohmann::ordered_json counters_json(const transport::Counters& counters) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : transport::counter_names()) {
    object[std::string(name)] = counters.*value;
  }
  return object;
}

transport::Counters difference(const transport::Counters& now, const transport::Counters& before) {
  transport::Counters result;
  for (const auto& [name, value] : transport::counter_names()) {
    result.*value = now.*value - before.*value;
  }
  return result;
}

}  // namespace softrnic::tools
