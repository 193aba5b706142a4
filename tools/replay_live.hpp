// SPDX-License-Identifier: BSD-3-Clause
// Replay of a capture to a live link: what all its modes have in common on the command line. Each
// mode is a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "device_options.hpp"
#include "replay/connection_choice.hpp"

namespace softrnic::tools {

// How time passes between what is sent.
struct ReplayPace {
  bool fast = false;   // as soon as the protocol allows
  double speed = 1.0;  // of the capture's; 2 is twice as fast
};

struct LiveReplayOptions {
  static constexpr std::uint32_t kNoStream = 0xffffffff;

  std::string path;
  DeviceOptions device;   // device.link is --to
  std::string mode_name;  // --as
  replay::ConnectionChoice connection;
  std::uint32_t stream = kNoStream;
  ReplayPace pace;
  bool json = false;
  bool verbose = false;

  bool live() const { return !device.link.empty() || !mode_name.empty(); }

  void add_to(CommandLine& line);
  // After parse().
  void complete();
};

// "fast", "captured", or how many times as fast as captured: "2", "0.5".
ReplayPace parse_pace(const std::string& text);

// Shows on a terminal how far a capture is read, and gives up at Ctrl-C.
replay::OnRecord show_reading();

}  // namespace softrnic::tools
