// SPDX-License-Identifier: BSD-3-Clause
// Reads a script written in TOML (toml.io, version 1.0), with the place of everything in it.
#pragma once

#include <string_view>

#include "fabric/script_value.hpp"
#include "wire/expected.hpp"

namespace softrnic::fabric {

wire::Expected<ScriptValue, ScriptError> read_toml(std::string_view text);

}  // namespace softrnic::fabric
