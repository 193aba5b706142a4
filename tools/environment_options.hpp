// SPDX-License-Identifier: BSD-3-Clause
// The options of `softrnic run` and `softrnic env`: which NIC the programs shall have.
//
// Each stands for a variable SOFTRNIC_*; what no option says is as the environment says already.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "verbs/environment.hpp"

namespace softrnic::tools {

class CommandLine;

struct EnvironmentOptions {
  // libibverbs.so.1 itself is preloaded too: for libraries whose RPATH names another one.
  bool preload_verbs = false;

  void add_to(CommandLine& command_line);
  // After parse(). Throws a Failure for a variable that says nothing sensible, a fault script that
  // cannot be read, or a capture that could not be written.
  verbs::Environment complete() const;

 private:
  void take(std::string_view option, const char* variable, const std::string& text, char join);

  std::map<std::string, std::string> texts_;  // by the variable's name
};

// The names of its files from the root, for a program that goes elsewhere.
void make_absolute(verbs::Environment& environment);

}  // namespace softrnic::tools
