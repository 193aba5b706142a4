// SPDX-License-Identifier: BSD-3-Clause
// What the capture tells of a responder's settings: the access it granted, its keys' ranges, its
// partition key, its RNR timer, its PSN and MSN at the start of a stretch.
#pragma once

#include <optional>
#include <vector>

#include "offline_replay/captured_memory.hpp"
#include "offline_replay/conversation.hpp"
#include "offline_replay/emulated_responder.hpp"
#include "offline_replay/request_fate.hpp"

namespace softrnic::offline_replay {

// The access through a key that a request asks for; none for requests without, and for the later
// packets of a WRITE.
std::optional<KeyUse> key_use(const Packet& request, std::size_t user);

// Whether the captured peer found nothing wrong with the request's key.
bool granted(const Step& step);

// What each step changes in memory; of no length where it changes nothing.
std::vector<MemoryChange> memory_changes(const RequestCourse& course);

// Settings for one stretch of a conversation.
ResponderPriming prime_responder(const Conversation& conversation, const RequestCourse& course,
                                 const Stretch& stretch, std::size_t domain);

}  // namespace softrnic::offline_replay
