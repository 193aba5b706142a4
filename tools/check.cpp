// SPDX-License-Identifier: BSD-3-Clause
// softrnic check: every frame of a capture against the rules, the first fault first.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture_check.hpp"
#include "capture/capture_file.hpp"
#include "capture/packet_lookahead.hpp"
#include "capture_progress.hpp"
#include "check_report.hpp"
#include "command_line.hpp"
#include "failure.hpp"
#include "fault_spool.hpp"
#include "interruption.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {
namespace {

constexpr int kNoFault = 0;
constexpr int kFaults = 1;
constexpr int kUnreadable = 2;

constexpr std::size_t kFaultsOnTerminal = 20;
constexpr std::size_t kEveryFault = std::numeric_limits<std::size_t>::max();

struct Options {
  std::string path;
  bool json = false;
  bool all = false;
  bool mirrored = false;

  std::size_t most_faults() const {
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    return all || json || !terminal ? kEveryFault : kFaultsOnTerminal;
  }
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "check", "Usage: softrnic check FILE [OPTIONS]",
      "Checks every frame of a capture (pcap or pcapng; -: standard input): the ICRC, the "
      "headers,\n"
      "and the rules of the protocol in each stream. Prints the faults in the order of the "
      "frames.\n"
      "Exit status: 0 when there is no fault, 1 when there is one, 2 when the file cannot be read\n"
      "to its end.",
      "  softrnic check failure.pcapng\n"
      "  softrnic check failure.pcapng --json | jq '.faults[0]'\n"
      "  tcpdump -i eth1 -w - udp port 4791 | softrnic check -\n");
  std::vector<std::string> words;
  line.flag("mirrored", options.mirrored,
            "a switch mirrored it: frames that come twice, cut, late or not at all are no faults");
  line.flag("all", options.all, "every fault, where a terminal gets only the first ones");
  line.flag("json", options.json, "print one JSON object instead of text");
  line.words("FILE", 1, words);
  if (!line.parse(argc, argv)) return false;
  if (words.empty()) fail_usage("the capture to check is missing; see softrnic check --help");
  options.path = words.front();
  return true;
}

bool put(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

void print(const CheckReport& report, FaultSpool& spool) {
  const bool printed = put(report.before) && spool.copy_to(stdout) && put(report.after);
  if (!printed || std::fflush(stdout) != 0) {
    fail_output();
  }
}

// Why the file was not read to its end; empty when it was.
std::string read_all(capture::CaptureFile& file, capture::CaptureCheck& check, bool json,
                     FaultSpool& spool) {
  CaptureProgress progress(file);
  capture::PacketLookahead ahead(check, check.mirrored());
  bool first = true;
  const auto keep_faults = [&] {
    for (const capture::Fault& fault : check.take_faults()) {
      if (spool.add(json ? fault_json(fault, std::exchange(first, false)) : fault_text(fault))) {
        continue;
      }
      throw Failure(kUnreadable,
                    fmt::format("the faults are too many for memory and cannot be kept in a "
                                "file in /tmp: {}: make room",
                                std::strerror(errno)));
    }
  };
  while (!interrupted()) {
    const capture::Record* record = file.next();
    if (record == nullptr) break;
    ahead.on_record(file.link_type(), *record);
    if (!check.faults().empty()) keep_faults();
    progress.on_record(*record);
  }
  ahead.finish();
  keep_faults();
  // A signal may also have been what ended the reading.
  if (interrupted()) return fmt::format("interrupted after frame {}", check.counts().frames);
  return file.damage();
}

}  // namespace

int run_check(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  catch_interruptions();
  auto file = capture::CaptureFile::open(options.path);
  if (!file && interrupted()) throw Failure(kUnreadable, "interrupted before the first frame");
  if (!file) throw Failure(kUnreadable, file.error());

  // Left to the end of the process: to free it piece by piece takes a good part of the time that
  // the reading takes.
  static auto& check = *new capture::CaptureCheck(options.most_faults(), options.mirrored);
  FaultSpool spool;
  const std::string why_not = read_all(*file, check, options.json, spool);
  const bool complete = why_not.empty();
  if (complete || check.counts().frames != 0) {
    print(options.json ? check_json(check, options.path, complete)
                       : check_text(check, options.path, complete),
          spool);
  }
  if (!complete) throw Failure(kUnreadable, why_not);
  return check.counts().faults == 0 ? kNoFault : kFaults;
}

}  // namespace softrnic::tools
