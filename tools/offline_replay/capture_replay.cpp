// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/capture_replay.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "offline_replay/reading_search.hpp"

namespace softrnic::offline_replay {
namespace {

// Hosts whose frames are lost on their way to the point of capture: answers that the requester
// missed, too, or requests that begin beyond others never seen.
std::set<wire::Gid> hosts_with_losses(const std::vector<ConversationResult>& results) {
  std::set<wire::Gid> hosts;
  for (const ConversationResult& result : results) {
    if (result.comparison.lost > 0) hosts.insert(result.conversation->responder);
    const auto& steps = result.course.steps;
    const bool gaps = std::any_of(steps.begin(), steps.end(), [](const Step& step) {
      return step.fate == Fate::out_of_sequence;
    });
    if (gaps) hosts.insert(result.conversation->requester);
  }
  return hosts;
}

}  // namespace

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
  const std::set<wire::Gid> losing = hosts_with_losses(replay.results);
  for (ConversationResult& result : replay.results) {
    settle_doubtful(result.comparison, losing.count(result.conversation->responder) != 0);
  }
  std::stable_sort(replay.results.begin(), replay.results.end(),
                   [](const ConversationResult& a, const ConversationResult& b) {
                     return a.conversation->requests.front()->frame <
                            b.conversation->requests.front()->frame;
                   });
  return replay;
}

}  // namespace softrnic::offline_replay
