// SPDX-License-Identifier: BSD-3-Clause
// What `softrnic edit` reads besides the capture: scripts and keys.
#pragma once

#include <string>

namespace softrnic::tools {

// The whole of a file of at most 1 MiB; `option` is what a complaint names.
std::string read_small_file(const std::string& option, const std::string& path);

// The key of --anonymise: "env:NAME" is an environment variable's, "file:PATH" a file's without
// its last line end, anything else the key itself.
std::string read_key(const std::string& word);

}  // namespace softrnic::tools
