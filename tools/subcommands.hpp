// SPDX-License-Identifier: BSD-3-Clause
// The table of subcommands. A new one adds its function here and its line in subcommands.cpp.
//
// Each function gets its own name as argv[0] and its arguments after it, and returns the exit
// status; it may throw Failure instead.
#pragma once

#include <span>
#include <string_view>

namespace softrnic::tools {

int run_capture(int argc, char** argv);
int run_check(int argc, char** argv);
int run_craft(int argc, char** argv);
int run_demo(int argc, char** argv);
int run_diff(int argc, char** argv);
int run_edit(int argc, char** argv);
int run_env(int argc, char** argv);
int run_explain(int argc, char** argv);
int run_extcap(int argc, char** argv);
int run_info(int argc, char** argv);
int run_peer(int argc, char** argv);
int run_ping(int argc, char** argv);
int run_pingpong(int argc, char** argv);
int run_replay(int argc, char** argv);
int run_run(int argc, char** argv);
int run_wireshark(int argc, char** argv);

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(int argc, char** argv);
};

std::span<const Subcommand> subcommands();

// Runs the subcommand that argv[1] names, or answers --help and --version. Prints what is wrong in
// one line; never throws.
int run_subcommand(int argc, char** argv);

}  // namespace softrnic::tools
