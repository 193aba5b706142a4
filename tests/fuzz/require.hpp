// SPDX-License-Identifier: BSD-3-Clause
// What a fuzz target holds to be true: if it is not, the process ends and the input is kept.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace softrnic::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// As every complaint has to be.
inline bool is_one_line(std::string_view text) {
  return !text.empty() && text.find_first_of("\n\r") == std::string_view::npos;
}

}  // namespace softrnic::fuzz
