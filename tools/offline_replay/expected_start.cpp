// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/expected_start.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace softrnic::offline_replay {
namespace {

using wire::Opcode;

// PSNs that a peer may be ahead of a requester that repeats itself.
constexpr std::int64_t kPlausibleLead = 1 << 16;
// Answers from which another start is taken.
constexpr std::size_t kStartsTried = 8;
constexpr std::size_t kStartSearched = 256;
// READs and atomics answered with one MSN, from which on they are taken for repetitions.
constexpr std::size_t kRepetitions = 3;

bool is_acknowledge(const Packet& answer) {
  return answer.opcode->operation == wire::Operation::acknowledge;
}

// An answer that runs ahead of all requests is believed unless the next one contradicts it: the
// same PSN with another MSN, or an earlier PSN.
bool stands(const AnswerEvidence& evidence, std::size_t k) {
  for (std::size_t j = k + 1; j < evidence.answers(); ++j) {
    if (!evidence.has_msn(j)) continue;
    return evidence.proves(j) > evidence.proves(k) ||
           (evidence.proves(j) == evidence.proves(k) && evidence.msn(j) == evidence.msn(k));
  }
  return true;
}

// Of a capture that begins among repetitions of READs and atomics: the position after those that
// are answered with one and the same MSN, for executed anew each would have counted. Zero when the
// first ones are not.
std::int64_t after_repetitions(const AnswerEvidence& evidence, std::size_t begin) {
  std::optional<std::uint32_t> msn;
  std::int64_t proved = 0;
  std::int64_t repeated = 0;
  for (std::size_t k = begin; k < evidence.answers() && !is_acknowledge(evidence.answer(k)); ++k) {
    const bool starts_anew = !evidence.copies(evidence.answer_position(k)).empty();
    if (!evidence.has_msn(k) || evidence.proves(k) <= proved) continue;
    if (msn && starts_anew) {
      const bool counted = evidence.msn(k) == ((*msn + 1) & 0xffffff);
      if (evidence.msn(k) != *msn) return counted ? repeated : 0;
      repeated = evidence.proves(k);
    }
    msn = evidence.msn(k);
    proved = evidence.proves(k);
  }
  return 0;
}

// What answers before the first request, or repetitions, show to be executed; zero when nothing.
std::int64_t executed_before(const AnswerEvidence& evidence) {
  const std::size_t begin = evidence.answers_after(evidence.request(0).frame);
  std::int64_t proved = 0;
  for (std::size_t k = 0; k < begin; ++k) proved = std::max(proved, evidence.proves(k));
  if (proved == 0) return after_repetitions(evidence, begin);
  return proved < kPlausibleLead ? proved : 0;
}

// The capture begins with a message, no answer comes before it, and the requester does not go back
// beyond it before the first few answers.
bool begins_in_order(const AnswerEvidence& evidence) {
  const Packet& first = evidence.request(0);
  if (!first.opcode->starts_message() || evidence.answers_after(first.frame) > 0) return false;
  const std::size_t last = std::min(evidence.answers(), kStartsTried);
  for (std::size_t k = 0; k < last; ++k) {
    // A READ answered from a later packet on repeats the tail of an earlier one.
    const Opcode opcode = evidence.answer(k).opcode->opcode;
    if (evidence.answer_position(k) == 0 &&
        (opcode == Opcode::rc_read_response_middle || opcode == Opcode::rc_read_response_last)) {
      return false;
    }
  }
  const std::uint32_t limit =
      last == 0 ? AnswerEvidence::kNoFrame : evidence.answer(last - 1).frame;
  for (std::size_t i = 0; i < evidence.requests() && evidence.request(i).frame < limit; ++i) {
    if (evidence.request_position(i) < 0) return false;
  }
  return true;
}

// Repetitions all carry one MSN; the last of them may be answers to new requests.
std::vector<std::int64_t> starts_of_one_msn(const AnswerEvidence& evidence, std::size_t begin,
                                            std::size_t least) {
  std::vector<std::int64_t> starts;
  std::set<std::int64_t> repeated;
  std::optional<std::uint32_t> msn;
  const std::size_t end = std::min(begin + kStartSearched, evidence.answers());
  for (std::size_t k = begin; k < end; ++k) {
    if (is_acknowledge(evidence.answer(k)) || !evidence.has_msn(k)) continue;
    if (!msn) msn = evidence.msn(k);
    if (evidence.msn(k) != *msn) continue;
    starts.push_back(evidence.proves(k));
    const std::int64_t position = evidence.answer_position(k);
    if (!evidence.copies(position).empty()) repeated.insert(position);
  }
  if (repeated.size() < least) return {};
  std::sort(starts.rbegin(), starts.rend());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  starts.resize(std::min<std::size_t>(starts.size(), 2));
  return starts;
}

}  // namespace

std::int64_t expected_start(const AnswerEvidence& evidence) {
  if (const auto& told = evidence.conversation().first_psn) {
    const std::int32_t ahead = evidence.request(0).psn().since(*told);
    if (ahead >= 0) return -ahead;
  }
  if (const std::int64_t executed = executed_before(evidence); executed > 0) return executed;
  std::int64_t lowest = 0;                                        // requested before the answer
  std::int64_t early = std::numeric_limits<std::int64_t>::min();  // proved for what came before
  std::size_t next = 0;
  for (std::size_t k = evidence.answers_after(evidence.request(0).frame); k < evidence.answers();
       ++k) {
    const Packet& answer = evidence.answer(k);
    for (; next < evidence.requests() && evidence.request(next).frame < answer.frame; ++next) {
      lowest = std::min(lowest, evidence.request_position(next));
    }
    const std::int64_t position = evidence.answer_position(k);
    if (is_positive(answer) && position < 0) {  // to a request before the capture
      early = std::max(early, position + 1);
      continue;
    }
    if (is_sequence_nak(answer) && position <= 0) return position;
    if (is_positive(answer) && !evidence.sensible(k) && stands(evidence, k)) return position + 1;
    break;
  }
  return std::max(lowest, early);
}

std::vector<std::int64_t> possible_starts(const AnswerEvidence& evidence) {
  std::vector<std::int64_t> starts;
  if (evidence.requests() == 0) return starts;
  const auto add = [&starts](std::int64_t start) {
    const bool plausible = start > -kPlausibleLead && start < kPlausibleLead;
    if (plausible && std::find(starts.begin(), starts.end(), start) == starts.end()) {
      starts.push_back(start);
    }
  };
  const bool in_order = begins_in_order(evidence);
  const std::size_t begin = evidence.answers_after(evidence.request(0).frame);
  const std::size_t end = in_order ? begin : std::min(begin + kStartsTried, evidence.answers());
  for (std::size_t k = begin; k < end; ++k) add(evidence.proves(k));
  // Requests from before the capture may have been on their way: a NAK tells how far they came.
  const std::size_t searched =
      in_order ? begin : std::min(begin + kStartSearched, evidence.answers());
  for (std::size_t k = begin; k < searched && starts.size() < 2 * kStartsTried; ++k) {
    if (is_sequence_nak(evidence.answer(k))) add(evidence.proves(k));
  }
  for (const std::int64_t start : starts_of_one_msn(evidence, begin, in_order ? kRepetitions : 0)) {
    add(start);
  }
  return starts;
}

}  // namespace softrnic::offline_replay
