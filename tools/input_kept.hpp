// SPDX-License-Identifier: BSD-3-Clause
// The capture that a command reads is not one that it writes.
#pragma once

#include <string>

namespace softrnic::tools {

// Gives up when `output`, as `option` named it, is the file `input`, by whatever name: it would be
// gone before it was read, or in its place stand what was made of it.
void keep_input(const std::string& input, const std::string& option, const std::string& output);

}  // namespace softrnic::tools
