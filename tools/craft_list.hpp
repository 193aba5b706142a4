// SPDX-License-Identifier: BSD-3-Clause
// What softrnic craft --list shows: packets with their headers, words, fields.
#pragma once

#include <string>
#include <vector>

namespace softrnic::tools {

// `names`: show only packets with these words in their names, and their fields; empty: all.
std::string craft_list_text(const std::vector<std::string>& names);
std::string craft_list_json(const std::vector<std::string>& names);

}  // namespace softrnic::tools
