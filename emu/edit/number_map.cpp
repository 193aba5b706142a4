// SPDX-License-Identifier: BSD-3-Clause
#include "edit/number_map.hpp"

#include <fmt/format.h>

#include "fabric/fault_terms.hpp"

namespace softrnic::edit {
namespace {

using wire::Unexpected;

std::uint64_t largest(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::optional<std::uint64_t> read_fitting(std::string_view text, unsigned bits) {
  const auto number = fabric::read_number(text);
  return number && *number <= largest(bits) ? number : std::nullopt;
}

// "0x11", "0x11..0x1f", either with "@ADDRESS".
std::optional<std::string> read_from(std::string_view text, unsigned bits, NumberRule& rule) {
  rule.every = false;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    rule.owner = wire::Gid::from_string(text.substr(at + 1));
    if (!rule.owner) {
      return fmt::format("\"{}\" is no IP address or GID of a host", text.substr(at + 1));
    }
    text = text.substr(0, at);
    if (text == "*") return std::nullopt;
  }
  const std::size_t dots = text.find("..");
  const auto first = read_fitting(text.substr(0, dots), bits);
  const auto last =
      dots == std::string_view::npos ? first : read_fitting(text.substr(dots + 2), bits);
  if (!first || !last || *first > *last) {
    return fmt::format("\"{}\" is no number, and no range A..B, from 0 to {:#x}", text,
                       largest(bits));
  }
  rule.first = *first;
  rule.last = *last;
  return std::nullopt;
}

}  // namespace

wire::Expected<NumberRule, std::string> NumberRule::read(std::string_view text, unsigned bits) {
  NumberRule rule;
  std::string_view to = text;
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    if (auto error = read_from(text.substr(0, equals), bits, rule)) return Unexpected{*error};
    to = text.substr(equals + 1);
    if (rule.last != ~std::uint64_t{0}) rule.kind = Kind::rebase;
  }
  if (to.starts_with('+') || to.starts_with('-')) {
    rule.kind = to[0] == '+' ? Kind::plus : Kind::minus;
    to.remove_prefix(1);
  }
  const auto value = read_fitting(to, bits);
  if (!value) {
    return Unexpected{fmt::format(
        "\"{}\" is no number from 0 to {:#x}, and no step such as +1 or -1: use FROM=TO, "
        "A..B=TO, FROM@HOST=TO or TO",
        to, largest(bits))};
  }
  rule.value = *value;
  if (rule.kind == Kind::rebase && rule.last - rule.first > largest(bits) - rule.value) {
    return Unexpected{fmt::format("\"{}\": a range of {} numbers from {:#x} on goes beyond {:#x}",
                                  text, rule.last - rule.first + 1, rule.value, largest(bits))};
  }
  return rule;
}

std::uint64_t NumberMap::apply(std::uint64_t number, const wire::Gid& owner,
                               bool named_only) const {
  for (const NumberRule& rule : rules_) {
    if ((named_only && rule.every) || !rule.covers(number, owner)) continue;
    switch (rule.kind) {
      case NumberRule::Kind::set:
        return rule.value;
      case NumberRule::Kind::rebase:
        return rule.value + (number - rule.first);
      case NumberRule::Kind::plus:
        return (number + rule.value) & largest(bits_);
      case NumberRule::Kind::minus:
        return (number - rule.value) & largest(bits_);
    }
  }
  return number;
}

}  // namespace softrnic::edit
