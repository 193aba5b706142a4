// SPDX-License-Identifier: BSD-3-Clause
// softrnic run: a program with the emulated NIC under it. Sets its environment and becomes it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "environment_options.hpp"
#include "failure.hpp"
#include "library_folder.hpp"
#include "program_file.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

struct Options {
  EnvironmentOptions environment;
  std::vector<char*> program;
};

// Whether the next argument belongs to this option.
bool takes_argument(std::string_view option) {
  return option.starts_with("--") && option.find('=') == std::string_view::npos &&
         option != "--help" && option != "--preload-verbs";
}

// Where the program begins: after "--", or at the first word that belongs to no option. `own`: how
// many arguments are ours.
int program_at(int argc, char** argv, int& own) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    own = i;
    if (word == "--") return i + 1;
    if (!word.starts_with('-')) return i;
    if (takes_argument(word)) ++i;
  }
  own = argc;
  return argc;
}

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "run", "Usage: softrnic run [OPTIONS] [--] PROGRAM [ARGUMENTS...]",
      "Runs a verbs program on an emulated NIC: no kernel module, no privilege, no change\n"
      "to the program. It finds softrnic's libibverbs in place of its own, and the files\n"
      "of a device in /sys/class/infiniband and /dev/infiniband. Whatever the program\n"
      "starts has the same.",
      "  softrnic run -- ibv_devinfo -v\n"
      "  softrnic run -- ib_write_bw &\n"
      "  softrnic run --host b -- ib_write_bw localhost\n"
      "  softrnic run --faults loss.toml --capture run-%p.pcapng -- ibv_rc_pingpong -g 3\n");
  options.environment.add_to(line);
  int own = argc;
  const int begin = program_at(argc, argv, own);
  if (!line.parse(own, argv)) return false;
  for (int i = begin; i < argc; ++i) options.program.push_back(argv[i]);
  if (options.program.empty()) {
    fail_usage("which program? Write it at the end: softrnic run -- ibv_devinfo");
  }
  options.program.push_back(nullptr);
  return true;
}

void set_variables(const verbs::Environment& environment) {
  // What says nothing must not be left over from outside either.
  for (const verbs::EnvironmentVariable& variable : verbs::environment_variables()) {
    ::unsetenv(variable.name.data());
  }
  for (const auto& [name, value] : environment.variables()) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
}

void set_variables(const std::vector<LoaderVariable>& variables) {
  for (const LoaderVariable& variable : variables) {
    const char* before = std::getenv(variable.name.c_str());
    ::setenv(variable.name.c_str(), variable.joined(before == nullptr ? "" : before).c_str(), 1);
  }
}

}  // namespace

int run_run(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  verbs::Environment environment = options.environment.complete();
  make_absolute(environment);
  const std::string folder = library_folder();
  const ProgramFile program = examine_program(find_program(options.program.front()));
  if (program.privileged) {
    fmt::print(stderr,
               "softrnic run: {} runs with more rights than yours, and so ignores what is set for "
               "it: run a copy without them (cp does not keep them)\n",
               one_line(program.loaded));
  }
  set_variables(environment);
  set_variables(
      loader_variables(folder, program.first_libraries,
                       options.environment.preload_verbs || !program.rpath_verbs.empty()));
  // By path, so that it is what was looked at; a script without "#!" goes to the shell.
  ::execvp(program.path.c_str(), options.program.data());
  const int error = errno;
  throw Failure(error == ENOENT ? kNotFound : kNotExecutable,
                fmt::format("{}: {}", program.path, std::strerror(error)));
}

}  // namespace softrnic::tools
