// SPDX-License-Identifier: BSD-3-Clause
// The short form of a fault rule: one line of words.
//
//   [tx|rx] ACTION [ARGUMENT] [WHICH] [PROBABILITY%] [FILTER...]
//
//   drop 5%                                  every frame, with probability 0.05, both ways
//   tx drop 3rd WRITE MIDDLE of QP 0x12      the third such frame sent to that queue pair
//   corrupt icrc every 100th                 the 100th, 200th, ... frame
//   rx answer rnr 12 first 2 SEND            two received SENDs are refused
//
// docs/faults.md has the whole of it.
#pragma once

#include <string>
#include <string_view>

#include "fabric/fault_rule.hpp"
#include "wire/expected.hpp"

namespace softrnic::fabric {

// The rule, or one sentence saying which word is wrong and what would be right.
wire::Expected<FaultRule, std::string> read_fault_line(std::string_view text);

}  // namespace softrnic::fabric
