// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/script_value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace softrnic::fabric {

std::string ScriptError::to_string() const {
  std::string line = place.line == 0
                         ? message
                         : fmt::format("line {}, column {}: {}", place.line, place.column, message);
  // A message may quote the script.
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

}  // namespace softrnic::fabric
