// SPDX-License-Identifier: BSD-3-Clause
// softrnic replay --as wire: the frames of a capture, as they are, onto a link.
#pragma once

#include "replay/frame_source.hpp"
#include "replay/wire_replay.hpp"
#include "replay_live.hpp"

namespace softrnic::tools {

struct WireReplayArguments {
  replay::FrameSourceOptions source;
  std::optional<wire::MacAddress> destination;  // of frames without an Ethernet header
  std::optional<replay::PacingOptions> rate;    // instead of the capture's gaps
  std::uint64_t loops = 1;
  double linger_seconds = 0.5;

  void add_to(CommandLine& line);
};

// "10Gbit/s", "2.5G", "800k": bits a second; no value for anything else.
std::optional<double> parse_bit_rate(std::string_view text);

int run_wire_replay(const LiveReplayOptions& live, const WireReplayArguments& arguments);

}  // namespace softrnic::tools
