// SPDX-License-Identifier: BSD-3-Clause
// Which events only one of two connections has, message by message.
#pragma once

#include <vector>

#include "replay/dialogue_event.hpp"
#include "replay/message_difference.hpp"

namespace softrnic::replay {

// `aligned`: the messages of each requester, by the captured side. Appends what differs.
void compare_events(const ConnectionPair& pair,
                    const std::array<std::vector<AlignedPair>, 2>& aligned,
                    std::vector<DialogueDifference>& out);

// What a responder's completed messages do to its MSN: it counts them.
void compare_msns(const ConnectionPair& pair, std::uint8_t requester,
                  const std::vector<AlignedPair>& aligned, std::vector<DialogueDifference>& out);

}  // namespace softrnic::replay
