// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/script_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace softrnic::fabric {

namespace {

using Json = nlohmann::ordered_json;
using Event = Json::parse_event_t;

ScriptPlace place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return {static_cast<std::uint32_t>(std::ranges::count(before, '\n') + 1),
          static_cast<std::uint32_t>(std::max<std::size_t>(column, 1))};
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...".
std::string reason_of(const Json::parse_error& error) {
  std::string_view reason = error.what();
  const std::size_t column = reason.find(", column ");
  const std::size_t colon = column == std::string_view::npos ? column : reason.find(": ", column);
  if (colon != std::string_view::npos) reason.remove_prefix(colon + 2);
  return std::string(reason);
}

// What RFC 8259 leaves to the reader: how deep, and no key twice.
class Watch {
 public:
  bool see(int depth, Event event, const Json& parsed) {
    if (depth > kMostScriptDepth) {
      complain(fmt::format("tables and arrays nested more than {} deep", kMostScriptDepth));
      return false;
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end && !keys_.empty()) keys_.pop_back();
    if (event == Event::key && !keys_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) complain(fmt::format("\"{}\" stands twice", key));
    }
    return true;
  }
  const std::string& complaint() const { return complaint_; }

 private:
  void complain(std::string text) {
    if (complaint_.empty()) complaint_ = std::move(text);
  }

  std::vector<std::set<std::string>> keys_;
  std::string complaint_;
};

ScriptValue convert(const Json& json) {
  ScriptValue value;
  if (json.is_object()) {
    value.kind = ScriptValue::Kind::table;
    for (const auto& [key, child] : json.items()) {
      value.members.push_back({key, {}, convert(child)});
    }
  } else if (json.is_array()) {
    value.kind = ScriptValue::Kind::array;
    for (const Json& child : json) value.elements.push_back(convert(child));
  } else if (json.is_string()) {
    value.kind = ScriptValue::Kind::string;
    value.text = json.get<std::string>();
  } else if (json.is_number_integer()) {
    value.kind = ScriptValue::Kind::integer;
    value.text = json.dump();
  } else if (json.is_number()) {
    value.kind = ScriptValue::Kind::real;
    value.text = fmt::format("{}", json.get<double>());
  } else if (json.is_boolean()) {
    value.kind = ScriptValue::Kind::boolean;
    value.text = json.get<bool>() ? "true" : "false";
  }
  return value;
}

}  // namespace

wire::Expected<ScriptValue, ScriptError> read_json(std::string_view text) {
  Watch watch;
  try {
    const Json root = Json::parse(text, [&watch](int depth, Event event, Json& parsed) {
      return watch.see(depth, event, parsed);
    });
    if (!watch.complaint().empty()) return wire::Unexpected{ScriptError{{}, watch.complaint()}};
    return convert(root);
  } catch (const Json::parse_error& error) {
    if (!watch.complaint().empty()) return wire::Unexpected{ScriptError{{}, watch.complaint()}};
    return wire::Unexpected{ScriptError{place_of(text, error.byte), reason_of(error)}};
  } catch (const Json::exception&) {
    // A number beyond what a double holds.
    return wire::Unexpected{ScriptError{{}, "a number is too large"}};
  }
}

}  // namespace softrnic::fabric
