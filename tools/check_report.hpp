// SPDX-License-Identifier: BSD-3-Clause
// What `softrnic check` prints of a checked capture, as text and as JSON (docs/check.md).
#pragma once

#include <string>

#include "capture/capture_check.hpp"

namespace softrnic::tools {

// `complete`: the file was read to its end.
std::string check_text(const capture::CaptureCheck& check, const std::string& path, bool complete);
std::string check_json(const capture::CaptureCheck& check, const std::string& path, bool complete);

}  // namespace softrnic::tools
