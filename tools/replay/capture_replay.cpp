// SPDX-License-Identifier: BSD-3-Clause
#include "replay/capture_replay.hpp"

#include <algorithm>
#include <map>

namespace softrnic::replay {

bool CaptureReplay::agrees() const {
  return survey.failures.empty() &&
         std::all_of(results.begin(), results.end(),
                     [](const ConversationResult& result) { return result.agrees(); });
}

CaptureReplay replay_capture(std::vector<CapturedFrame> frames) {
  CaptureReplay replay;
  replay.frames = std::move(frames);
  replay.survey = survey_frames(replay.frames);
  replay.conversations = find_conversations(replay.survey.packets);

  std::map<wire::Gid, std::vector<const Conversation*>> by_responder;
  for (const Conversation& conversation : replay.conversations.list) {
    by_responder[conversation.responder].push_back(&conversation);
  }
  for (const auto& [responder, conversations] : by_responder) {
    auto results = replay_host(conversations, replay.survey.packets, replay.survey.damaged);
    std::move(results.begin(), results.end(), std::back_inserter(replay.results));
  }
  std::stable_sort(replay.results.begin(), replay.results.end(),
                   [](const ConversationResult& a, const ConversationResult& b) {
                     return a.conversation->requests.front()->frame <
                            b.conversation->requests.front()->frame;
                   });
  return replay;
}

}  // namespace softrnic::replay
