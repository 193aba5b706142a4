// SPDX-License-Identifier: BSD-3-Clause
// The capture that a command reads is not one that it writes, and what it writes goes to as many
// files.
#pragma once

#include <span>
#include <string>
#include <utility>

namespace softrnic::tools {

// Gives up when `output`, as `option` named it, is the file `input`, by whatever name: it would be
// gone before it was read, or in its place stand what was made of it.
void keep_input(const std::string& input, const std::string& option, const std::string& output);

// A Failure when two of the outputs, each an option and its value, are one file.
void keep_apart(std::span<const std::pair<std::string, std::string>> outputs);

}  // namespace softrnic::tools
