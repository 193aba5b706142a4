// SPDX-License-Identifier: BSD-3-Clause
// Replays everything that was asked of one captured host: all its conversations as responder, in
// the capture's order, since they share its memory.
#pragma once

#include <string>
#include <vector>

#include "offline_replay/answer_comparison.hpp"

namespace softrnic::offline_replay {

struct ConversationResult {
  const Conversation* conversation = nullptr;
  RequestCourse course;
  std::uint32_t fed = 0;       // requests given to the emulated responder
  std::uint32_t withheld = 0;  // requests the captured peer did not receive
  std::uint32_t emulated_answers = 0;
  bool silent = false;  // the captured peer never answered: no such queue pair is emulated
  std::string refusal;  // why it could not be replayed to its end; empty when it was
  Comparison comparison;

  bool agrees() const { return refusal.empty() && comparison.differences.empty(); }
};

// `conversations`: those of one responder address, with a reading for each. `packets`: the whole
// capture's; `damaged`: its frames that did not come out right.
std::vector<ConversationResult> replay_host_as_read(
    const std::vector<const Conversation*>& conversations, const std::vector<Reading>& readings,
    const std::vector<Packet>& packets, const std::vector<Packet>& damaged);

}  // namespace softrnic::offline_replay
