// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabric/fault_table.hpp"
#include "fabric/fault_terms.hpp"
#include "fabric/script_json.hpp"
#include "fabric/script_toml.hpp"

namespace softrnic::fabric {

namespace {

using Kind = ScriptValue::Kind;
using RulesOrError = wire::Expected<std::vector<FaultRule>, std::string>;

std::string_view without_comment(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  line = line.substr(0, line.find('#'));
  const std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

// Whether a line looks as one of TOML or JSON does and none of the short form.
bool looks_like_script(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  return line.starts_with('[') || line.starts_with('{') || (words.size() > 1 && words[1] == "=");
}

RulesOrError read_lines(std::string_view text) {
  std::vector<FaultRule> rules;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    auto rule = FaultRule::parse(line);
    if (!rule) {
      return wire::Unexpected{
          fmt::format("line {}: {}{}", number, rule.error(),
                      looks_like_script(line)
                          ? " (a script in TOML or JSON has a name that ends in .toml or .json)"
                          : "")};
    }
    rules.push_back(std::move(*rule));
  }
  return rules;
}

RulesOrError read_script(const ScriptValue& root) {
  std::vector<FaultRule> rules;
  if (!root.is(Kind::table)) {
    return wire::Unexpected{std::string("a fault script is a table with the key \"fault\"")};
  }
  for (const ScriptMember& member : root.members) {
    if (member.key != "fault") {
      const ScriptError error{
          member.place, fmt::format("\"{}\" is no key of a fault script: use fault", member.key)};
      return wire::Unexpected{error.to_string()};
    }
    if (!member.value.is(Kind::array)) {
      const ScriptError error{member.value.place,
                              "\"fault\" is an array: write [[fault]] before "
                              "each, or fault = [...]"};
      return wire::Unexpected{error.to_string()};
    }
    for (const ScriptValue& element : member.value.elements) {
      auto rule = read_fault_table(element);
      if (!rule) {
        const std::string error = rule.error().to_string();
        if (rule.error().place.line != 0) return wire::Unexpected{error};
        return wire::Unexpected{fmt::format("fault {}: {}", rules.size() + 1, error)};
      }
      rules.push_back(std::move(*rule));
    }
  }
  return rules;
}

}  // namespace

ScriptForm script_form_of(std::string_view path) {
  const std::string name = to_lower(path);
  if (name.ends_with(".toml")) return ScriptForm::toml;
  if (name.ends_with(".json")) return ScriptForm::json;
  return ScriptForm::lines;
}

RulesOrError read_fault_file(std::string_view text, ScriptForm form) {
  if (form == ScriptForm::lines) return read_lines(text);
  const auto root = form == ScriptForm::toml ? read_toml(text) : read_json(text);
  if (!root) return wire::Unexpected{root.error().to_string()};
  return read_script(*root);
}

}  // namespace softrnic::fabric
