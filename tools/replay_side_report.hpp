// SPDX-License-Identifier: BSD-3-Clause
// What `softrnic replay --as requester|responder` prints of what it did.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "replay/side_replay.hpp"

namespace softrnic::tools {

struct SideReplayResult {
  std::string path;
  std::string mode;  // requester, responder
  std::uint32_t stream = 0;
  bool interrupted = false;
  bool timed_out = false;
  bool left_early = false;  // responder: the client went without acknowledging the last message
  wire::Duration captured_duration{};
  wire::Duration live_duration{};

  bool completed = false;  // every operation was
};

nlohmann::ordered_json side_replay_json(const SideReplayResult& result,
                                        const replay::RecordedConnection& connection,
                                        std::uint8_t side, const replay::SideReplay& replay);
std::string side_replay_text(const SideReplayResult& result,
                             const replay::RecordedConnection& connection, std::uint8_t side,
                             const replay::SideReplay& replay);

nlohmann::ordered_json end_json(const replay::RecordedSide& side);
std::string roce_name(const replay::RecordedConnection& connection);  // "v1", "v2"

// How the captured peer's memory lies in one region.
nlohmann::ordered_json memory_json(const replay::RecordedMemory& memory);

// "10.0.0.1 QP 0x000011".
std::string end_text(const replay::RecordedSide& side);

}  // namespace softrnic::tools
