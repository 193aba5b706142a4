// SPDX-License-Identifier: BSD-3-Clause
// Text as one word of a POSIX shell, or of a Dockerfile's ENV line.
#pragma once

#include <string>
#include <string_view>

namespace softrnic::tools {

// As it is where it needs no quotes, else in single quotes.
std::string quoted_for_shell(std::string_view text);

// In double quotes; what Docker would take for a variable or an escape is escaped. It has no way to
// write a line break: the caller sees to that.
std::string quoted_for_dockerfile(std::string_view text);

}  // namespace softrnic::tools
