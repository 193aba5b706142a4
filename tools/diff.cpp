// SPDX-License-Identifier: BSD-3-Clause
// softrnic diff: two captures of the same dialogue, and what differs first.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "difference_report.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "replay/side_by_side.hpp"
#include "replay_live.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

constexpr int kSame = 0;
constexpr int kDifferent = 1;
constexpr int kCouldNot = 2;

constexpr std::size_t kOnTerminal = 10;
constexpr std::size_t kContext = 3;
constexpr std::size_t kDefaultWidth = 120;

struct Options {
  replay::CapturedConnection captured;
  replay::CapturedConnection live;
  replay::DifferenceOptions difference;
  bool side_by_side = false;
  bool all = false;
  bool json = false;
};

replay::ConnectionChoice parse_choice(const char* option, const std::string& text) {
  replay::ConnectionChoice choice;
  if (const auto number = parse_number(text); number && *number < analysis::kNone) {
    choice.stream = static_cast<std::uint32_t>(*number);
    return choice;
  }
  if (const auto ends = replay::ConnectionChoice::from_string(text)) return *ends;
  fail_usage("--{} {}: give its number, or both ends, such as 10.0.0.1:0x11-10.0.0.2:0x12", option,
             text);
}

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "diff", "Usage: softrnic diff CAPTURED LIVE [OPTIONS]",
      "Compares two captures of the same dialogue: what the second one does otherwise than the\n"
      "first, message by message, the first difference first. Queue pairs, PSNs, keys, addresses,\n"
      "ports and times may be others; so may what is coalesced.\n"
      "Exit status: 0 when nothing differs, 1 when something does, 2 when it cannot be told.",
      "  softrnic diff captured.pcapng live.pcapng\n"
      "  softrnic diff captured.pcapng live.pcapng --side-by-side | less -S\n"
      "  softrnic diff captured.pcapng live.pcapng --json | jq '.connections[].differences[0]'\n");
  std::vector<std::string> words;
  line.flag("side-by-side,y", options.side_by_side,
            "the packets of both in a table too, around what differs");
  line.flag("all", options.all, "every difference, and every packet of the table");
  line.option("captured", "CONNECTION",
              "of CAPTURED only this connection: its number, or ADDR:QPN-ADDR:QPN",
              [&options](const std::string& text) {
                options.captured.choice = parse_choice("captured", text);
              });
  line.option(
      "live", "CONNECTION", "of LIVE only this connection",
      [&options](const std::string& text) { options.live.choice = parse_choice("live", text); });
  line.option("late", "SECONDS",
              "an answer is late that comes so much later than the captured one, and four times as "
              "late (default 0.05; 0: never)",
              [&options](const std::string& text) {
                const auto seconds = parse_seconds(text);
                if (!seconds) fail_usage("--late {}: give seconds, such as 0.001", text);
                options.difference.late = wire::Duration(static_cast<std::int64_t>(*seconds * 1e9));
              });
  line.flag("json", options.json, "print one JSON object instead of text");
  line.words("CAPTURED LIVE", 2, words);
  if (!line.parse(argc, argv)) return false;
  if (words.size() != 2) {
    fail_usage("two captures are to be compared, and {} named; see softrnic diff --help",
               words.size() == 1 ? "one is" : "none is");
  }
  options.captured.path = words[0];
  options.live.path = words[1];
  if (options.json && options.side_by_side) {
    fail_usage("--side-by-side is a table of text, which --json leaves out: give one of them");
  }
  if (words[0] == "-" && words[1] == "-") fail_usage("standard input is one capture, not two");
  return true;
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  return kDefaultWidth;
}

std::string tables(const replay::DifferenceReport& report, const Options& options) {
  const auto captured = replay::Dialogue::read(options.captured.path);
  if (!captured) throw Failure(kCouldNot, captured.error());
  const auto live = replay::Dialogue::read(options.live.path);
  if (!live) throw Failure(kCouldNot, live.error());
  constexpr std::size_t kEverything = 1 << 30;
  std::string text;
  for (const replay::ConnectionDifference& connection : report.connections) {
    if (!connection.captured || !connection.live) continue;
    text += fmt::format("\n{} | {}\n", connection.captured_ends, connection.live_ends);
    text += replay::side_by_side_text(*captured, *connection.captured, *live, *connection.live,
                                      terminal_width(), options.all ? kEverything : kContext);
  }
  return text;
}

}  // namespace

int run_diff(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  catch_interruptions();
  const auto report =
      replay::compare_captures(options.captured, options.live, options.difference, show_reading());
  if (!report) throw Failure(kCouldNot, interrupted() ? "interrupted" : report.error());

  const DifferenceNames names{options.captured.path, options.live.path};
  const bool few = isatty(STDOUT_FILENO) == 1 && !options.all;
  std::string text = options.json ? difference_json(*report, names)
                                  : difference_text(*report, names, few ? kOnTerminal : 0);
  if (options.side_by_side && !options.json) text += tables(*report, options);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail_output();
  }
  return report->empty() ? kSame : kDifferent;
}

}  // namespace softrnic::tools
