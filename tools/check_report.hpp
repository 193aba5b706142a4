// SPDX-License-Identifier: BSD-3-Clause
// What `softrnic check` prints of a checked capture, as text and as JSON (docs/check.md).
#pragma once

#include <string>

#include "capture/capture_check.hpp"

namespace softrnic::tools {

// One fault as a line, or as an element of the object's array (the first, or another one).
std::string fault_text(const capture::Fault& fault);
std::string fault_json(const capture::Fault& fault, bool first);

// What stands before the faults and behind them. `complete`: the file was read to its end.
struct CheckReport {
  std::string before;
  std::string after;
};
CheckReport check_text(const capture::CaptureCheck& check, const std::string& path, bool complete);
CheckReport check_json(const capture::CaptureCheck& check, const std::string& path, bool complete);

}  // namespace softrnic::tools
