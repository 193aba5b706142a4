// SPDX-License-Identifier: BSD-3-Clause
// A file of fault rules: lines in the short form, or a script in TOML or JSON (docs/faults.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/fault_rule.hpp"
#include "wire/expected.hpp"

namespace softrnic::fabric {

enum class ScriptForm : std::uint8_t { lines, toml, json };

// By how the file's name ends: ".toml", ".json", or anything else.
ScriptForm script_form_of(std::string_view path);

// The rules in their order; or one line, "line 3, column 7: ..." or "fault 2: ...", that says what
// is wrong.
wire::Expected<std::vector<FaultRule>, std::string> read_fault_file(std::string_view text,
                                                                    ScriptForm form);

}  // namespace softrnic::fabric
