// SPDX-License-Identifier: BSD-3-Clause
#include "subcommands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "failure.hpp"
#include "interruption.hpp"
#include "one_line.hpp"

namespace softrnic::tools {

namespace {

constexpr std::array kSubcommands{
    Subcommand{"analyze", "the same as explain", run_explain},
    Subcommand{"capture", "every frame of a shared-memory segment to a file or a pipe, live",
               run_capture},
    Subcommand{"check", "is every frame of a capture right? What went wrong first?", run_check},
    Subcommand{"craft", "packets from a short description, to a file or a link", run_craft},
    Subcommand{"demo", "two NICs on one lossy wire, in a moment and without any privilege",
               run_demo},
    Subcommand{"diff", "two captures of one dialogue: what differs, the first difference first",
               run_diff},
    Subcommand{"edit", "a capture rewritten, its lengths, checksums and ICRC right again",
               run_edit},
    Subcommand{"env", "what `run` sets, for a shell, a Dockerfile or a workflow", run_env},
    Subcommand{"explain", "what happened in a capture, and what to look at first", run_explain},
    Subcommand{"extcap", "segments as interfaces of Wireshark, which calls it", run_extcap},
    Subcommand{"info", "the device as ibv_devinfo would show it, and the links this machine offers",
               run_info},
    Subcommand{"peer", "a NIC that answers: exposes memory, echoes SENDs, misbehaves as told",
               run_peer},
    Subcommand{"ping", "ICMP echo from the emulated NIC, as ping(8)", run_ping},
    Subcommand{"pingpong", "RC, UC and UD ping-pong with ibv_*_pingpong or with itself",
               run_pingpong},
    Subcommand{"replay", "a capture's requests against an emulated NIC: where do answers differ?",
               run_replay},
    Subcommand{"run", "any verbs program, unchanged, on an emulated NIC", run_run},
    Subcommand{"wireshark", "the RoCE plugin and profile into your Wireshark folders, or out",
               run_wireshark},
};

void print_help() {
  fmt::print("softrnic: a RoCE network card in user space\n\nUsage: softrnic SUBCOMMAND ...\n\n");
  for (const Subcommand& subcommand : subcommands()) {
    fmt::print("  {:<10}{}\n", subcommand.name, subcommand.summary);
  }
  fmt::print(
      "\n  softrnic SUBCOMMAND --help    its options, with an example\n"
      "  softrnic --version            the version\n"
      "\nStart with: softrnic demo\n");
}

int complain(std::string_view who, std::string_view message, int exit_status) {
  fmt::print(stderr, "{}: {}\n", who, one_line(message));
  return exit_status;
}

// Runs a part of the program, and sees to it that what it printed was taken.
template <class Run>
int run_guarded(const std::string& who, Run run) {
  try {
    const int status = run();
    errno = 0;
    // A flush in between may have failed, and taken with it what it could not write.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_output();
    return status;
  } catch (const Failure& failure) {
    std::fflush(stdout);
    return complain(who, failure.what(), failure.exit_status());
  } catch (const std::bad_alloc&) {
    return complain(who, "there is not enough memory: ask for smaller sizes", kFailure);
  } catch (const std::exception& error) {
    const bool unwritten = std::ferror(stdout) != 0;
    std::fflush(stdout);
    return complain(who, error.what(), unwritten ? kNotWritten : kFailure);
  }
}

}  // namespace

std::span<const Subcommand> subcommands() {
  return kSubcommands;
}

int run_subcommand(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  survive_broken_pipes();
  if (name == "--help" || name == "-h" || name == "help") {
    return run_guarded("softrnic", [] {
      print_help();
      return kSuccess;
    });
  }
  if (name == "--version" || name == "-V") {
    return run_guarded("softrnic", [] {
      fmt::print("softrnic {}\n", SOFTRNIC_VERSION);
      return kSuccess;
    });
  }
  if (name.empty()) {
    return complain("softrnic", "a subcommand is missing; see softrnic --help", kUsageError);
  }
  const auto found = std::find_if(kSubcommands.begin(), kSubcommands.end(),
                                  [&](const Subcommand& s) { return s.name == name; });
  if (found == kSubcommands.end()) {
    return complain("softrnic",
                    fmt::format("there is no subcommand '{}'; see softrnic --help", name),
                    kUsageError);
  }
  return run_guarded(fmt::format("softrnic {}", found->name),
                     [&] { return found->run(argc - 1, argv + 1); });
}

}  // namespace softrnic::tools
