// SPDX-License-Identifier: BSD-3-Clause
// softrnic check: every frame of a capture against the rules, the first fault first.
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "capture/capture_check.hpp"
#include "capture/capture_file.hpp"
#include "capture_progress.hpp"
#include "check_report.hpp"
#include "command_line.hpp"
#include "failure.hpp"
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

void print(const std::string& report) {
  if (std::fwrite(report.data(), 1, report.size(), stdout) != report.size()) {
    fail("the report cannot be written to standard output");
  }
}

// Why the file was not read to its end; empty when it was.
std::string read_all(capture::CaptureFile& file, capture::CaptureCheck& check) {
  CaptureProgress progress(file);
  while (!interrupted()) {
    const capture::Record* record = file.next();
    if (record == nullptr) break;
    check.on_record(file.link_type(), *record);
    progress.on_record(*record);
  }
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

  capture::CaptureCheck check(options.most_faults(), options.mirrored);
  const std::string why_not = read_all(*file, check);
  const bool complete = why_not.empty();
  if (complete || check.counts().frames != 0) {
    print(options.json ? check_json(check, options.path, complete)
                       : check_text(check, options.path, complete));
  }
  if (!complete) throw Failure(kUnreadable, why_not);
  return check.counts().faults == 0 ? kNoFault : kFaults;
}

}  // namespace softrnic::tools
