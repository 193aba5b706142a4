// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

namespace softrnic::explain {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The bytes of the UTF-8 sequence that `text` begins with; 0 when it begins with none. No
// surrogates, nothing longer than it need be (RFC 3629).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool fits = (first != 0xe0 || byte(1) >= 0xa0) && (first != 0xed || byte(1) < 0xa0);
    return fits && tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool fits = (first != 0xf0 || byte(1) >= 0x90) && (first != 0xf4 || byte(1) < 0x90);
    return fits && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  const bool control = (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7f;
  if (control) {
    out += kReplacement;
  } else {
    out += c;
  }
}

struct Unit {
  std::string_view name;
  double size;
};

// Up to four figures, without zeros that say nothing.
std::string figure(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return grouped(static_cast<std::uint64_t>(std::llround(size)));
  const int digits = size >= 100 ? 1 : size >= 10 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, digits);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string in_units(double value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.size)
      return figure(value / unit.size) + " " + std::string(unit.name);
  }
  return figure(value) + " " + std::string(units.back().name);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += kReplacement;
    } else if (length == 1) {
      append_escaped(out, text.front());
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string json_for_script(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  // These stand in strings alone, where the escape means the same.
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string count_of(std::uint64_t n, std::string_view one) {
  return fmt::format("{} {}{}", grouped(n), one, n == 1 ? "" : "s");
}

std::string page_duration(std::int64_t ns) {
  static constexpr std::array kUnits{Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"µs", 1e3},
                                     Unit{"ns", 1}};
  return in_units(static_cast<double>(ns), kUnits);
}

std::string page_bytes(std::uint64_t bytes) {
  static constexpr std::array kUnits{Unit{"GB", 1e9}, Unit{"MB", 1e6}, Unit{"kB", 1e3}};
  return bytes < 1000 ? count_of(bytes, "byte") : in_units(static_cast<double>(bytes), kUnits);
}

std::string page_rate(double bits_per_second) {
  static constexpr std::array kUnits{Unit{"Tbit/s", 1e12}, Unit{"Gbit/s", 1e9}, Unit{"Mbit/s", 1e6},
                                     Unit{"kbit/s", 1e3}, Unit{"bit/s", 1}};
  return in_units(bits_per_second, kUnits);
}

std::string capitalized(std::string_view sentence) {
  std::string text(sentence);
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

const Json& member_of(const Json& object, std::string_view member) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(member);
  return found == object.end() ? kNull : *found;
}

std::uint64_t number_in(const Json& object, std::string_view member, std::uint64_t otherwise) {
  const Json& value = member_of(object, member);
  return value.is_number() ? value.get<std::uint64_t>() : otherwise;
}

std::int64_t time_in(const Json& object, std::string_view member) {
  const Json& value = member_of(object, member);
  return value.is_number() ? value.get<std::int64_t>() : 0;
}

std::string text_in(const Json& object, std::string_view member) {
  const Json& value = member_of(object, member);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace softrnic::explain
