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
#include "replay/operation_schedule.hpp"
#include "replay_side_options.hpp"

namespace softrnic::tools {

// The mode when none is given.
inline constexpr const char* kWireMode = "wire";

// The headings of options that belong to some modes alone.
inline constexpr std::string_view kWireHeading = "As wire: the frames as they are";
inline constexpr std::string_view kPeerHeading =
    "The live peer of --as requester and --as responder";
inline constexpr std::string_view kOurEndHeading = "Our end of it";
inline constexpr std::string_view kCloselyHeading = "How closely";

struct LiveReplayOptions {
  static constexpr std::uint32_t kNoStream = 0xffffffff;

  std::string path;
  DeviceOptions device;   // device.link is --to
  std::string mode_name;  // --as
  replay::ConnectionChoice connection;
  std::uint32_t stream = kNoStream;
  replay::Pace pace;
  ReplaySideOptions side;
  bool json = false;
  bool verbose = false;

  bool in_memory() const { return device.link == "memory"; }
  bool live() const { return !device.link.empty() || !mode_name.empty(); }

  void add_to(CommandLine& line);
  // After parse(); a Failure for what does not go together.
  void complete(const CommandLine& line);

 private:
  void check_modes(const CommandLine& line) const;
};

// "fast", "captured", or how many times as fast as captured: "2", "0.5".
replay::Pace parse_pace(const std::string& text);

// The modes. Each replays, prints its report and gives the exit status.
int run_side_replay(const LiveReplayOptions& options);

// Shows on a terminal how far a capture is read, and gives up at Ctrl-C.
replay::OnRecord show_reading();

}  // namespace softrnic::tools
