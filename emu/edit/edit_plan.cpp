// SPDX-License-Identifier: BSD-3-Clause
#include "edit/edit_plan.hpp"

#include <algorithm>

namespace softrnic::edit {

bool EditPlan::needs_analysis() const {
  if (!choice.streams.empty() || path_mtu != 0 || thin > 1) return true;
  // A step for every packet asks for no flow.
  const auto asks = [](const NumberRule& rule) {
    return !rule.every || rule.kind == NumberRule::Kind::set;
  };
  return std::ranges::any_of(
      stages, [&](const EditStage& stage) { return std::ranges::any_of(stage.psns, asks); });
}

}  // namespace softrnic::edit
