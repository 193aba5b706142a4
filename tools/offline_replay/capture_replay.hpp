// SPDX-License-Identifier: BSD-3-Clause
// Replay of a whole capture: every frame parsed and written anew, and for every reliable
// connection in it the requester's side fed to an emulated responder.
#pragma once

#include <string>
#include <vector>

#include "offline_replay/host_replay.hpp"

namespace softrnic::offline_replay {

struct CaptureReplay {
  std::vector<CapturedFrame> frames;
  FrameSurvey survey;
  Conversations conversations;
  std::vector<ConversationResult> results;  // in the order of their first requests

  // Every frame came out right, and every conversation's answers agree.
  bool agrees() const;
};

CaptureReplay replay_capture(std::vector<CapturedFrame> frames);

}  // namespace softrnic::offline_replay
