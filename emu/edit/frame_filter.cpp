// SPDX-License-Identifier: BSD-3-Clause
#include "edit/frame_filter.hpp"

#include <fmt/format.h>

namespace softrnic::edit {

wire::Expected<fabric::FaultRule, std::string> read_filter(std::string_view text) {
  auto rule = fabric::FaultRule::parse(fmt::format("drop {}", text));
  if (!rule) return rule;
  if (auto refusal = refuse_rule(*rule)) return wire::Unexpected{*refusal};
  return rule;
}

std::optional<std::string> refuse_rule(const fabric::FaultRule& rule) {
  using Action = fabric::FaultRule::Action;
  if (rule.way != fabric::FaultRule::Way::both) return "tx and rx mean nothing in a capture";
  switch (rule.action) {
    case Action::drop:
    case Action::duplicate:
    case Action::corrupt:
    case Action::mark_ecn:
    case Action::rewrite:
      return std::nullopt;
    default:
      return fmt::format(
          "{} needs a link: in a capture there are rewrite, corrupt, mark-ecn, drop and duplicate",
          to_string(rule.action));
  }
}

}  // namespace softrnic::edit
