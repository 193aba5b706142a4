// SPDX-License-Identifier: BSD-3-Clause
#include "edit/psn_shift.hpp"

#include "wire/psn.hpp"

namespace softrnic::edit {

using wire::Psn;

std::optional<std::uint32_t> PsnShift::apply(const std::optional<FlowName>& flow, std::uint32_t psn,
                                             bool begins) {
  for (const NumberRule& rule : rules_) {
    if (!rule.every && !flow) return std::nullopt;
    if (!rule.every && !rule.covers(flow->qpn, flow->responder)) continue;
    switch (rule.kind) {
      case NumberRule::Kind::plus:
        return (psn + rule.value) & Psn::kMask;
      case NumberRule::Kind::minus:
        return (psn - rule.value) & Psn::kMask;
      case NumberRule::Kind::set:
      case NumberRule::Kind::rebase:
        break;
    }
    if (!flow) return std::nullopt;
    const auto base = static_cast<std::uint32_t>(rule.value);
    const auto [entry, is_new] = added_.try_emplace(*flow, base - psn);
    if (begins && !is_new) entry->second = base - psn;
    return (psn + entry->second) & Psn::kMask;
  }
  return psn;
}

}  // namespace softrnic::edit
