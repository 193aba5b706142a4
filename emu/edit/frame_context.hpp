// SPDX-License-Identifier: BSD-3-Clause
// What is known of a captured frame before it is edited.
#pragma once

#include <optional>

#include "edit/psn_shift.hpp"
#include "wire/instant.hpp"

namespace softrnic::edit {

struct FrameContext {
  std::uint32_t number = 0;
  wire::Instant at;
  bool has_psn = false;               // its PSN is of a flow: no CNP, no management
  std::optional<FlowName> flow;       // of the requests whose number space its PSN is of
  std::optional<FlowName> announced;  // CM: the flow whose first PSN it tells
};

}  // namespace softrnic::edit
