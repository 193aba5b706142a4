// SPDX-License-Identifier: BSD-3-Clause
#include "environment_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "command_line.hpp"
#include "device_options.hpp"
#include "failure.hpp"

namespace softrnic::tools {

namespace {

namespace fs = std::filesystem;

// Options whose repetition adds to a list.
constexpr char kList = ',';
// Options of which the last counts.
constexpr char kSingle = '\0';

struct Option {
  const char* name;
  const char* value_name;
  const char* variable;
  char join;
  const char* help;
};

constexpr Option kOptions[] = {
    {"link", "LINK", "SOFTRNIC_LINK", kSingle,
     "where its frames go: shm:NAME (a segment shared with other programs of this user; default: "
     "shm:default), udp:ADDRESS, tap:NAME, packet:IFACE or xdp:IFACE"},
    {"device", "NAME", "SOFTRNIC_DEVICE", kSingle,
     "what the device is called (default: softrnic0)"},
    {"host", "NAME", "SOFTRNIC_HOST", kSingle,
     "shm: which host of the segment it is; programs of one host are one NIC (default: a)"},
    {"address", "ADDR[/LEN]", "SOFTRNIC_ADDRESSES", kList,
     "one more address of the NIC, IPv4 or IPv6, and so more GIDs; may be given several times"},
    {"mac", "MAC", "SOFTRNIC_MAC", kSingle, "its MAC address (default: the link's, or made up)"},
    {"mtu", "BYTES", "SOFTRNIC_MTU", kSingle,
     "the most its path MTU can be: 256, 512, 1024, 2048 or 4096 (default: what the link carries)"},
    {"faults", "SCRIPT", "SOFTRNIC_FAULTS", kSingle,
     "fault rules for its traffic, from a file: SCRIPT.toml or SCRIPT.json, or else one rule a "
     "line"},
    {"seed", "N", "SOFTRNIC_SEED", kSingle,
     "source of every random choice (default: drawn by each process)"},
    {"capture", "FILE", "SOFTRNIC_CAPTURE", kSingle,
     "write every frame of its, and every fault, to this pcapng file; %p is the process id, for "
     "more than one process"},
    {"limit", "NAME=N", "SOFTRNIC_LIMITS", kList,
     "what it can do at most, by a name that `softrnic info` shows: max_qp=1000, ...; may be given "
     "several times"},
};

void check_capture(const std::string& capture) {
  if (capture.empty()) return;
  std::error_code error;
  if (fs::is_directory(capture, error)) {
    fail_usage("--capture {}: is a folder; name a file in it", capture);
  }
  fs::path folder = fs::path(capture).parent_path();
  if (folder.empty()) folder = ".";
  // Only a process id is drawn in the name of a folder too.
  if (folder.string().find("%p") != std::string::npos) return;
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    fail_usage("--capture {}: cannot be written: {}", capture, std::strerror(errno));
  }
}

}  // namespace

void EnvironmentOptions::take(std::string_view option, const char* variable,
                              const std::string& text, char join) {
  const auto variables = verbs::environment_variables();
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [variable](const auto& v) { return v.name == variable; });
  verbs::Environment scratch;
  const std::string wrong = text.empty() ? "nothing is given" : found->take(text, scratch);
  if (!wrong.empty()) fail_usage("--{} {}: {}", option, text, wrong);
  std::string& kept = texts_[variable];
  kept = kept.empty() || join == kSingle ? text : kept + join + text;
}

void EnvironmentOptions::add_to(CommandLine& command_line) {
  command_line.heading("The emulated NIC");
  for (const Option& option : kOptions) {
    const auto take_it = [this, &option](const std::string& text) {
      take(option.name, option.variable, text, option.join);
    };
    if (option.join == kSingle) {
      command_line.option(option.name, option.value_name, option.help, take_it);
    } else {
      command_line.repeated(option.name, option.value_name, option.help, take_it);
    }
  }
  command_line.heading("How it is loaded");
  command_line.flag("preload-verbs", preload_verbs,
                    "put libibverbs.so.1 in LD_PRELOAD too, for programs with libraries whose "
                    "RPATH names another one");
}

verbs::Environment EnvironmentOptions::complete() const {
  auto environment = verbs::Environment::read([this](const char* name) -> const char* {
    const auto found = texts_.find(name);
    return found == texts_.end() ? std::getenv(name) : found->second.c_str();
  });
  if (!environment) fail_usage("{}", environment.error());
  if (texts_.contains("SOFTRNIC_HOST") && environment->link_specification() == environment->link) {
    fail_usage("--host {}: {}", environment->host,
               environment->link.starts_with("shm:") ? "the link names its host itself"
                                                     : "only a link shm:NAME has hosts");
  }
  if (!environment->faults.empty()) (void)read_fault_script(environment->faults, "--faults");
  check_capture(environment->capture);
  return std::move(environment).value();
}

void make_absolute(verbs::Environment& environment) {
  std::error_code error;
  for (std::string* path : {&environment.faults, &environment.capture}) {
    if (path->empty()) continue;
    const fs::path absolute = fs::absolute(*path, error);
    if (error) fail("cannot tell the folder this runs in: {}", error.message());
    *path = absolute.lexically_normal().string();
  }
}

}  // namespace softrnic::tools
