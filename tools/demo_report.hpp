// SPDX-License-Identifier: BSD-3-Clause
// What happened in the demo, for people and for programs.
#pragma once

#include "demo_play.hpp"

namespace softrnic::tools {

void print_text(const StageOptions& options, Play& play);
// One JSON object.
void print_json(const StageOptions& options, Play& play);

}  // namespace softrnic::tools
