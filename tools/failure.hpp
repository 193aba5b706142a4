// SPDX-License-Identifier: BSD-3-Clause
// How a subcommand gives up: one line that names cause and mend, and the exit status.
//
// Thrown anywhere below a subcommand and caught in one place (run_subcommand), which prints
// "softrnic NAME: message" to standard error. It never leaves tools/.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "one_line.hpp"

namespace softrnic::tools {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;     // asked for the right thing, and it did not work
inline constexpr int kUsageError = 2;  // asked for the wrong thing
inline constexpr int kNotWritten = 2;  // there is no room for the output, or nobody reads it

class Failure : public std::exception {
 public:
  Failure(int exit_status, std::string_view message)
      : exit_status_(exit_status), message_(one_line(message)) {}

  int exit_status() const { return exit_status_; }
  // One line, whatever it quotes.
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int exit_status_;
  std::string message_;
};

template <class... Arguments>
[[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Failure(kFailure, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
[[noreturn]] void fail_usage(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Failure(kUsageError, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// For standard output that did not take what was printed; errno says why.
[[noreturn]] void fail_output();

}  // namespace softrnic::tools
