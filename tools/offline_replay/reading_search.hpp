// SPDX-License-Identifier: BSD-3-Clause
// Replay of a host in the reading of its capture that leaves the fewest differences.
//
// A capture can often be read in more than one way: a request that was sent twice may have arrived
// the first time or the second, a capture may begin among repetitions. A difference that counts is
// one that no reading removes.
#pragma once

#include "offline_replay/host_replay.hpp"

namespace softrnic::offline_replay {

// Arguments as those of replay_host_as_read().
std::vector<ConversationResult> replay_host(const std::vector<const Conversation*>& conversations,
                                            const std::vector<Packet>& packets,
                                            const std::vector<Packet>& damaged);

}  // namespace softrnic::offline_replay
