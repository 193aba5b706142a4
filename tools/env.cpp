// SPDX-License-Identifier: BSD-3-Clause
// softrnic env: what `softrnic run` sets, for a shell, a Dockerfile, a file of variables, a
// program.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "environment_options.hpp"
#include "failure.hpp"
#include "library_folder.hpp"
#include "shell_quoting.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  EnvironmentOptions environment;
  bool dockerfile = false;
  bool plain = false;
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line("env", "Usage: softrnic env [OPTIONS]",
                   "Prints the variables that `softrnic run` sets, as commands of a shell.",
                   "  eval \"$(softrnic env --link shm:lab)\"\n"
                   "  softrnic env --dockerfile >> Dockerfile\n"
                   "  softrnic env --plain >> \"$GITHUB_ENV\"\n");
  line.flag("dockerfile", options.dockerfile, "print ENV lines of a Dockerfile instead");
  line.flag("plain", options.plain,
            "print lines NAME=VALUE instead, for $GITHUB_ENV, docker --env-file or systemd");
  line.flag("json", options.json, "print one JSON object instead");
  options.environment.add_to(line);
  if (!line.parse(argc, argv)) return false;
  if (options.dockerfile + options.plain + options.json > 1) {
    fail_usage("--dockerfile, --plain and --json are three forms: choose one");
  }
  return true;
}

std::string present(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::string{} : value;
}

// Those that are set here and shall say nothing.
std::vector<std::string> superfluous(const verbs::Environment& environment) {
  const verbs::Environment silent;
  std::vector<std::string> names;
  for (const verbs::EnvironmentVariable& variable : verbs::environment_variables()) {
    const std::string name(variable.name);
    const bool says_nothing = variable.give(environment) == variable.give(silent);
    if (says_nothing && !present(name).empty()) names.push_back(name);
  }
  return names;
}

void print_for_shell(const verbs::Environment& environment,
                     const std::vector<LoaderVariable>& loader) {
  for (const std::string& name : superfluous(environment)) fmt::print("unset {}\n", name);
  for (const auto& [name, value] : environment.variables()) {
    fmt::print("export {}={}\n", name, quoted_for_shell(value));
  }
  for (const auto& [name, front] : loader) {
    fmt::print("export {0}={1}\"${{{0}:+:${0}}}\"\n", name, quoted_for_shell(front));
  }
}

void print_for_dockerfile(const verbs::Environment& environment,
                          const std::vector<LoaderVariable>& loader) {
  for (const auto& [name, value] : environment.variables()) {
    fmt::print("ENV {}={}\n", name, quoted_for_dockerfile(value));
  }
  for (const auto& [name, front] : loader) {
    fmt::print("ENV {0}=\"{1}${{{0}:+:${0}}}\"\n", name, front);
  }
}

void print_plain(const verbs::Environment& environment, const std::vector<LoaderVariable>& loader) {
  for (const auto& [name, value] : environment.variables()) fmt::print("{}={}\n", name, value);
  for (const LoaderVariable& variable : loader) {
    fmt::print("{}={}\n", variable.name, variable.joined(present(variable.name)));
  }
}

void print_json(const verbs::Environment& environment, const std::vector<LoaderVariable>& loader) {
  Json root = Json::object();
  for (const auto& [name, value] : environment.variables()) root[name] = value;
  for (const LoaderVariable& variable : loader) {
    root[variable.name] = variable.joined(present(variable.name));
  }
  fmt::print("{}\n", root.dump(2, ' ', false, Json::error_handler_t::replace));
}

// A line break ends a line of these forms, and nothing can quote it.
void require_lines(const verbs::Environment& environment) {
  for (const auto& [name, value] : environment.variables()) {
    if (value.find('\n') != std::string::npos) {
      fail_usage("{}={}: has a line break, which this form cannot hold", name, value);
    }
  }
}

}  // namespace

int run_env(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  verbs::Environment environment = options.environment.complete();
  // A Dockerfile speaks of files in its image.
  if (!options.dockerfile) make_absolute(environment);
  const std::vector<LoaderVariable> loader =
      loader_variables(library_folder(), {}, options.environment.preload_verbs);
  if (options.json) {
    print_json(environment, loader);
  } else if (options.dockerfile) {
    require_lines(environment);
    print_for_dockerfile(environment, loader);
  } else if (options.plain) {
    require_lines(environment);
    print_plain(environment, loader);
  } else {
    print_for_shell(environment, loader);
  }
  return kSuccess;
}

}  // namespace softrnic::tools
