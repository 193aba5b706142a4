// SPDX-License-Identifier: BSD-3-Clause
// The report of a replay of frames onto a link, for people and for programs.
#pragma once

#include <string>

#include "replay/frame_source.hpp"
#include "replay/wire_replay.hpp"

namespace softrnic::tools {

struct WireReplayReport {
  std::string path;
  std::string link;
  std::string capture_path;  // of what passed the link; empty: none
  bool padded = false;       // frames that were cut were sent with zeros at their end
  std::uint32_t mtu = 0;
  std::string why_not;  // the replay ended before its end; empty: it did not
  const replay::WireReplayResult& result;
  const replay::FrameSourceCounts& counts;

  // Every frame that was asked for was sent.
  bool all_sent() const;
};

std::string wire_replay_text(const WireReplayReport& report);
std::string wire_replay_json(const WireReplayReport& report);

// "311.2 Mbit/s".
std::string show_bit_rate(double bits_per_second);

}  // namespace softrnic::tools
