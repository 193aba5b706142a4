// SPDX-License-Identifier: BSD-3-Clause
// Which PSN the captured peer expected when the first captured request arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "offline_replay/answer_evidence.hpp"

namespace softrnic::offline_replay {

// The likeliest position. Where no connection manager told it, it is the first request's own,
// unless the answers show that the peer waited for an earlier one, or had been farther already.
std::int64_t expected_start(const AnswerEvidence& evidence);

// Others it may have been. None when requests and answers are in order from the first one on.
std::vector<std::int64_t> possible_starts(const AnswerEvidence& evidence);

}  // namespace softrnic::offline_replay
