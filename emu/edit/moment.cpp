// SPDX-License-Identifier: BSD-3-Clause
#include "edit/moment.hpp"

#include <fmt/format.h>

#include <optional>

#include "fabric/fault_terms.hpp"

namespace softrnic::edit {
namespace {

// Nanoseconds are a whole number of at most 63 bits: 292 years either way.
constexpr std::int64_t kMostSeconds = 9'000'000'000;

// Nanoseconds of one unit, and the unit taken off the end.
std::int64_t take_unit(std::string_view& text) {
  for (const auto& [unit, size] :
       {std::pair{std::string_view("ns"), 1}, std::pair{std::string_view("us"), 1'000},
        std::pair{std::string_view("ms"), 1'000'000},
        std::pair{std::string_view("s"), 1'000'000'000}}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    return size;
  }
  return 1'000'000'000;
}

std::optional<wire::Duration> read_exactly(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::int64_t unit = take_unit(text);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty())) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : whole) {
    if (!fabric::is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > kMostSeconds * (1'000'000'000 / unit) || value > kMostSeconds * 1000) {
      return std::nullopt;
    }
  }
  value *= unit;
  std::int64_t digit = unit;
  for (const char c : fraction) {
    if (!fabric::is_digit(c)) return std::nullopt;
    digit /= 10;
    value += digit * (c - '0');
  }
  return std::chrono::nanoseconds(negative ? -value : value);
}

}  // namespace

wire::Expected<wire::Duration, std::string> read_signed_duration(std::string_view text) {
  const auto duration = read_exactly(text);
  if (duration) return *duration;
  return wire::Unexpected{
      fmt::format("\"{}\" is no time: use seconds such as 1.5 or -2, or 300us, 2ms", text)};
}

wire::Expected<Moment, std::string> read_moment(std::string_view text) {
  Moment moment;
  std::string_view rest = text;
  moment.absolute = rest.starts_with('@');
  if (moment.absolute) rest.remove_prefix(1);
  const auto duration = read_exactly(rest);
  if (!duration) {
    return wire::Unexpected{fmt::format(
        "\"{}\" is no time: use seconds since the first frame, such as 1.5, or @SECONDS since 1970",
        text)};
  }
  moment.since = *duration;
  return moment;
}

}  // namespace softrnic::edit
