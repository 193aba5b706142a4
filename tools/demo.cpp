// SPDX-License-Identifier: BSD-3-Clause
// softrnic demo: alice and bob show each RC operation on a lossy wire, and how what is lost comes
// back.
#include <string>

#include "command_line.hpp"
#include "demo_play.hpp"
#include "demo_report.hpp"
#include "device_options.hpp"
#include "failure.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

constexpr std::uint64_t kDefaultSeed = 1;
constexpr const char* kDefaultFault = "drop 1%";

struct Options {
  StageOptions stage;
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "demo", "Usage: softrnic demo [OPTIONS]",
      "Two emulated NICs, alice and bob, on one wire that loses 1 % of the frames: writes, reads,\n"
      "sends and atomics, what was lost, how it was recovered, and memory compared byte by byte.\n"
      "Needs no privilege and no time: its clock is virtual. Same options, same packets.",
      "  softrnic demo\n"
      "  softrnic demo -w demo.pcapng && wireshark demo.pcapng\n"
      "  softrnic demo --fault 'tx drop 3rd WRITE MIDDLE' --roce v1\n");
  bool faults_given = false;
  options.stage.seed = kDefaultSeed;
  line.option("seed", "N", "source of every random choice (default 1)",
              [&](const std::string& text) {
                const auto seed = parse_number(text);
                if (!seed) fail_usage("--seed {}: not a number", text);
                options.stage.seed = *seed;
              });
  line.option("roce", "v1|v2", "RoCE v1 (EtherType 0x8915) or v2 (UDP port 4791; default)",
              [&](const std::string& text) {
                if (text != "v1" && text != "v2") fail_usage("--roce {}: must be v1 or v2", text);
                options.stage.version =
                    text == "v1" ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
              });
  line.flag("ipv6", options.stage.ipv6, "IPv6 addresses (default: IPv4)");
  line.option("mtu", "BYTES", "path MTU: 256, 512, 1024, 2048 or 4096 (default 1024)",
              [&](const std::string& text) { options.stage.path_mtu = parse_path_mtu(text); });
  line.repeated("fault", "RULE",
                "what happens to frames, as alice sees them, instead of 'drop 1%'; may be given "
                "several times ('none': nothing)",
                [&](const std::string& text) {
                  faults_given = true;
                  if (text != "none") options.stage.faults.push_back(parse_fault(text));
                });
  add_script_to(line, options.stage.faults, &faults_given);
  line.flag("json", options.json, "print one JSON object instead of text");
  line.option(
      "write,w", "FILE", "write every frame, and every fault as a comment, to this pcapng file",
      [&](const std::string& text) { options.stage.capture_path = parse_capture_path(text); });
  if (!line.parse(argc, argv)) return false;
  if (!faults_given) options.stage.faults.push_back(parse_fault(kDefaultFault));
  return true;
}

}  // namespace

int run_demo(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  Play play(options.stage);
  play.perform();
  if (options.json) {
    print_json(options.stage, play);
  } else {
    print_text(options.stage, play);
  }
  if (!play.succeeded()) {
    const Outcome& last = play.outcomes().back();
    fail("step {}, {}, failed: {}", play.outcomes().size(), last.operation, last.result);
  }
  return kSuccess;
}

}  // namespace softrnic::tools
