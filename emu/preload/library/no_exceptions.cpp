// SPDX-License-Identifier: BSD-3-Clause
// What std::string_view would throw when it is misused. Nothing here misuses it, and nothing could
// catch it: defined here, so that the library needs no C++ run time in a process that has none.
#include <cstdlib>

namespace std {

[[noreturn]] void __throw_out_of_range_fmt(const char*, ...);

void __throw_out_of_range_fmt(const char*, ...) {
  std::abort();
}

}  // namespace std
