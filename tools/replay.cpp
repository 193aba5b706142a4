// SPDX-License-Identifier: BSD-3-Clause
// softrnic replay: feeds the requesters of a capture to an emulated responder and reports where
// its answers differ from the captured ones.
#include <cstdio>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "failure.hpp"
#include "input_kept.hpp"
#include "offline_replay/capture_replay.hpp"
#include "offline_replay/replay_report.hpp"
#include "replay_live.hpp"
#include "replay_wire.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

constexpr int kAgrees = 0;
constexpr int kDiffers = 1;
constexpr int kBadFile = 2;

struct Options {
  std::string path;
  bool json = false;
  bool verbose = false;
  LiveReplayOptions live;
  WireReplayArguments wire;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "replay", "Usage: softrnic replay FILE [OPTIONS]",
      "Takes the requester's side of every reliable connection in a capture (pcap or pcapng),\n"
      "feeds it to an emulated responder primed from the capture, and reports where its answers\n"
      "differ from the captured ones. Every frame is parsed and written anew as well.\n"
      "Exit status: 0 when all agree, 1 when something differs, 2 when the file is bad.",
      "  softrnic replay failure.pcap\n"
      "  softrnic replay failure.pcapng --json | jq '.conversations[].differences[0]'\n"
      "  softrnic replay failure.pcapng --to packet:eth1 --rate 10Gbit/s --loop 100\n");
  std::vector<std::string> words;
  line.flag("json", options.json, "print one JSON object instead of text");
  line.flag("verbose,v", options.verbose, "show every difference, and what was primed");
  options.live.add_to(line);
  options.wire.add_to(line);
  line.words("FILE", 1, words);
  if (!line.parse(argc, argv)) return false;
  if (words.empty()) fail_usage("the capture to replay is missing; see softrnic replay --help");
  options.path = words.front();
  keep_input(options.path, "--write", options.live.device.capture_path);
  keep_input(options.path, "--memory", options.live.side.memory_path);
  keep_input(options.path, "--expect-memory", options.live.side.expect_memory_path);
  keep_input(options.path, "--expect-messages", options.live.side.expect_messages_path);
  options.live.path = options.path;
  options.live.json = options.json;
  options.live.verbose = options.verbose;
  options.live.complete(line);
  return true;
}

void print(const std::string& report) {
  if (std::fwrite(report.data(), 1, report.size(), stdout) != report.size()) {
    fail_output();
  }
}

}  // namespace

int run_replay(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  if (options.live.mode_name == kWireMode) return run_wire_replay(options.live, options.wire);
  if (options.live.live()) return run_side_replay(options.live);
  auto frames = offline_replay::read_capture(options.path);
  if (!frames) throw Failure(kBadFile, frames.error());

  const offline_replay::CaptureReplay result = offline_replay::replay_capture(std::move(*frames));
  print(options.json
            ? offline_replay::json_report(result, options.path)
            : offline_replay::text_report(result, one_line(options.path), options.verbose));
  if (!result.agrees()) return kDiffers;
  if (result.survey.cut > 0) {
    throw Failure(kBadFile,
                  fmt::format("{} frames of {} were cut by the capture's snap length: their ICRCs "
                              "and missing bytes are not verified; capture whole frames "
                              "(tcpdump -s 0)",
                              result.survey.cut, options.path));
  }
  return kAgrees;
}

}  // namespace softrnic::tools
