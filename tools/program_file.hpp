// SPDX-License-Identifier: BSD-3-Clause
// The file of a program that is to be run with libraries of ours: found as a shell finds it, and
// looked at for what would keep the libraries out.
#pragma once

#include <string>
#include <vector>

namespace softrnic::tools {

// The exit statuses a shell gives (POSIX, 2.8.2).
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

// The path of `name`, by PATH when it has no slash. Throws a Failure of kNotFound or
// kNotExecutable.
std::string find_program(const std::string& name);

struct ProgramFile {
  std::string path;
  // The file that will be loaded: of a script its interpreter.
  std::string loaded;
  // What it wants to be first among the preloaded libraries (AddressSanitizer's run time).
  std::vector<std::string> first_libraries;
  // The first folder of its RPATH, which comes before LD_LIBRARY_PATH, that has a libibverbs.so.1
  // in it; empty: none.
  std::string rpath_verbs;
  // The loader ignores what is set for it: setuid or setgid to somebody else, or capabilities.
  bool privileged = false;
};

// Throws a Failure, with the cause, for a program that loads no library of ours: static, of another
// machine, of another C library.
ProgramFile examine_program(const std::string& path);

}  // namespace softrnic::tools
