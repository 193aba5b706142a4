// SPDX-License-Identifier: BSD-3-Clause
// Which request each captured READ or atomic response answers.
#pragma once

#include <vector>

#include "offline_replay/request_fate.hpp"

namespace softrnic::offline_replay {

bool is_atomic(const Packet& request);

struct ResponseAssignment {
  // Indexes of answers, for each step: those to it, and those to later repetitions of it, which
  // tell what it may have found. An atomic's repetitions are answered with what its execution
  // found, and count as answers to it.
  std::vector<std::vector<std::size_t>> of_step;
  std::vector<std::vector<std::size_t>> of_repetitions;
};

// Each response goes to the last request before it that it can answer.
ResponseAssignment assign_responses(const Conversation& conversation, const RequestCourse& course);

// The step that executed this position, which step `i` repeats; or `i` itself.
std::size_t execution_of(const std::vector<Step>& steps, std::size_t i, std::int64_t position);

}  // namespace softrnic::offline_replay
