// SPDX-License-Identifier: BSD-3-Clause
#include "craft/time_text.hpp"

#include <fmt/format.h>

#include <array>

#include "fabric/fault_terms.hpp"

namespace softrnic::craft {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 4> kUnits{
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};

// "12.5" in units of `one`, exactly, with at most as many digits as `one` has noughts.
std::optional<std::int64_t> read_decimal(std::string_view text, std::int64_t one) {
  std::int64_t value = 0;
  std::int64_t place = 0;  // 0: before the point
  bool any = false;
  for (const char c : text) {
    if (c == '.' && place == 0 && any) {
      place = one;
      continue;
    }
    if (!fabric::is_digit(c) || place == 1) return std::nullopt;
    any = true;
    if (place == 0) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, (c - '0') * one, &value)) {
        return std::nullopt;
      }
    } else {
      place /= 10;
      if (__builtin_add_overflow(value, (c - '0') * place, &value)) return std::nullopt;
    }
  }
  if (!any) return std::nullopt;
  return value;
}

}  // namespace

std::optional<wire::Duration> read_time(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(end) != unit.name) continue;
    const auto value = read_decimal(text.substr(0, end), unit.nanoseconds);
    if (!value) return std::nullopt;
    return wire::Duration(*value);
  }
  return std::nullopt;
}

std::string time_text(wire::Duration time) {
  const Unit* unit = &kUnits[0];
  for (const Unit& candidate : kUnits) {
    if (time.count() >= candidate.nanoseconds) unit = &candidate;
  }
  std::string text = fmt::format("{}", time.count() / unit->nanoseconds);
  std::int64_t rest = time.count() % unit->nanoseconds;
  if (rest != 0) text += '.';
  for (std::int64_t place = unit->nanoseconds / 10; rest != 0; place /= 10) {
    text += static_cast<char>('0' + rest / place);
    rest %= place;
  }
  return text + std::string(unit->name);
}

std::optional<wire::Instant> read_instant(std::string_view text) {
  const auto value = read_decimal(text, kUnits.back().nanoseconds);
  if (!value) return std::nullopt;
  return wire::Instant(wire::Duration(*value));
}

std::string instant_text(wire::Instant at) {
  const std::int64_t count = at.time_since_epoch().count();
  return fmt::format("{}.{:09}", count / kUnits.back().nanoseconds,
                     count % kUnits.back().nanoseconds);
}

}  // namespace softrnic::craft
