// SPDX-License-Identifier: BSD-3-Clause
// The long form of a fault rule: a table of a script, or a string in the short form in its place.
#pragma once

#include "fabric/fault_rule.hpp"
#include "fabric/script_value.hpp"
#include "wire/expected.hpp"

namespace softrnic::fabric {

// The rule; or what is wrong and, where the script's places are known, where.
wire::Expected<FaultRule, ScriptError> read_fault_table(const ScriptValue& table);

}  // namespace softrnic::fabric
