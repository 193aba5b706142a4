// SPDX-License-Identifier: BSD-3-Clause
// Text that a user, a file or a peer may have supplied, made fit to stand in one line of output.
#pragma once

#include <string>
#include <string_view>

namespace softrnic::tools {

// Longest text that is shown whole, in bytes.
inline constexpr std::size_t kLongestLine = 1000;

// Control bytes become "\x1b": nothing moves a cursor, ends the line or cuts it short. Of longer
// text the beginning and the end are left, for a complaint names its mend at the end.
std::string one_line(std::string_view text);

}  // namespace softrnic::tools
