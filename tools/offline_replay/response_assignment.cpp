// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/response_assignment.hpp"

namespace softrnic::offline_replay {
namespace {

using wire::Operation;

bool can_answer(const Packet& answer, std::int64_t position, const Step& step) {
  if (step.fate != Fate::executed && step.fate != Fate::duplicate) return false;
  if (position < step.position || position >= step.position + step.psns) return false;
  return answer.opcode->operation == Operation::atomic_acknowledge
             ? is_atomic(*step.request)
             : step.request->opcode->operation == Operation::read_request;
}

}  // namespace

bool is_atomic(const Packet& request) {
  const Operation operation = request.opcode->operation;
  return operation == Operation::compare_swap || operation == Operation::fetch_add;
}

std::size_t execution_of(const std::vector<Step>& steps, std::size_t i, std::int64_t position) {
  for (std::size_t j = i; j-- > 0 && steps[i].fate == Fate::duplicate;) {
    const Step& step = steps[j];
    if (step.fate == Fate::executed && step.position <= position &&
        position < step.position + step.psns) {
      return j;
    }
  }
  return i;
}

ResponseAssignment assign_responses(const Conversation& conversation, const RequestCourse& course) {
  const auto& steps = course.steps;
  ResponseAssignment assignment;
  assignment.of_step.resize(steps.size());
  assignment.of_repetitions.resize(steps.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < conversation.answers.size(); ++k) {
    const Packet& answer = *conversation.answers[k];
    while (next < steps.size() && steps[next].request->frame < answer.frame) ++next;
    if (answer.opcode->operation == Operation::acknowledge) continue;
    const std::int64_t position = course.answer_positions[k];
    std::size_t i = next;
    while (i > 0 && !can_answer(answer, position, steps[i - 1])) --i;
    if (i-- == 0) continue;
    assignment.of_step[i].push_back(k);
    const std::size_t executed = execution_of(steps, i, position);
    if (executed == i) continue;
    const bool saved = is_atomic(*steps[i].request);
    (saved ? assignment.of_step : assignment.of_repetitions)[executed].push_back(k);
  }
  return assignment;
}

}  // namespace softrnic::offline_replay
