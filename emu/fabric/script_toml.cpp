// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/script_toml.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <optional>

namespace softrnic::fabric {

namespace {

// The parser makes a table for each part of a dotted key, without a bound, and takes the tree down
// by recursion: a key of a hundred thousand dots would end the process.
constexpr std::ptrdiff_t kMostDots = 1000;

ScriptPlace place_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

class Converter {
 public:
  // No value when the script nests too deeply; too_deep() then says where.
  std::optional<ScriptValue> convert(const toml::node& node, int depth) {
    ScriptValue value;
    value.place = place_of(node.source());
    if (depth > kMostScriptDepth) {
      too_deep_ = value.place;
      return std::nullopt;
    }
    if (const toml::table* table = node.as_table()) {
      value.kind = ScriptValue::Kind::table;
      for (const auto& [key, child] : *table) {
        auto member = convert(child, depth + 1);
        if (!member) return std::nullopt;
        value.members.push_back(
            {std::string(key.str()), place_of(key.source()), std::move(*member)});
      }
    } else if (const toml::array* array = node.as_array()) {
      value.kind = ScriptValue::Kind::array;
      for (const toml::node& child : *array) {
        auto element = convert(child, depth + 1);
        if (!element) return std::nullopt;
        value.elements.push_back(std::move(*element));
      }
    } else {
      convert_scalar(node, value);
    }
    return value;
  }
  ScriptPlace too_deep() const { return too_deep_; }

 private:
  static void convert_scalar(const toml::node& node, ScriptValue& value) {
    if (const auto* text = node.as_string()) {
      value.kind = ScriptValue::Kind::string;
      value.text = text->get();
    } else if (const auto* integer = node.as_integer()) {
      value.kind = ScriptValue::Kind::integer;
      value.text = std::to_string(integer->get());
    } else if (const auto* real = node.as_floating_point()) {
      value.kind = ScriptValue::Kind::real;
      value.text = fmt::format("{}", real->get());
    } else if (const auto* boolean = node.as_boolean()) {
      value.kind = ScriptValue::Kind::boolean;
      value.text = boolean->get() ? "true" : "false";
    }
  }

  ScriptPlace too_deep_;
};

}  // namespace

wire::Expected<ScriptValue, ScriptError> read_toml(std::string_view text) {
  if (std::ranges::count(text, '.') > kMostDots) {
    return wire::Unexpected{
        ScriptError{{}, fmt::format("more than {} dots; is it a fault script?", kMostDots)}};
  }
  try {
    const toml::table root = toml::parse(text);
    Converter converter;
    auto value = converter.convert(root, 0);
    if (value) return std::move(*value);
    return wire::Unexpected{
        ScriptError{converter.too_deep(),
                    fmt::format("tables and arrays nested more than {} deep", kMostScriptDepth)}};
  } catch (const toml::parse_error& error) {
    return wire::Unexpected{
        ScriptError{place_of(error.source()), std::string(error.description())}};
  }
}

}  // namespace softrnic::fabric
