// SPDX-License-Identifier: BSD-3-Clause
// The report of a replay, for people and for programs.
#pragma once

#include <string>

#include "offline_replay/capture_replay.hpp"

namespace softrnic::offline_replay {

// Text: the frames, a line for each conversation, and under it what differs, first things first.
// `verbose`: every difference, not the first few, and what was primed.
std::string text_report(const CaptureReplay& replay, const std::string& path, bool verbose);

// The same and all of it as one JSON object.
std::string json_report(const CaptureReplay& replay, const std::string& path);

}  // namespace softrnic::offline_replay
