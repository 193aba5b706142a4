// SPDX-License-Identifier: BSD-3-Clause
// Reads a script written in JSON (RFC 8259). Of its values the places are not known.
#pragma once

#include <string_view>

#include "fabric/script_value.hpp"
#include "wire/expected.hpp"

namespace softrnic::fabric {

wire::Expected<ScriptValue, ScriptError> read_json(std::string_view text);

}  // namespace softrnic::fabric
