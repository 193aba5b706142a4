// SPDX-License-Identifier: BSD-3-Clause
// What a fuzz target holds to be true: if it is not, the process ends and the input is kept.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace softrnic::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace softrnic::fuzz
