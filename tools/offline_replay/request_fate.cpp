// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/request_fate.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "offline_replay/expected_start.hpp"

namespace softrnic::offline_replay {
namespace {

using wire::NakCode;
using wire::Operation;

constexpr std::uint32_t kNoFrame = AnswerEvidence::kNoFrame;

bool takes_receive(const wire::OpcodeInfo& opcode) {
  if (opcode.operation == Operation::send) return opcode.starts_message();
  return opcode.operation == Operation::write && opcode.has(wire::kImmDt);
}

bool spans_packets(const wire::OpcodeInfo& opcode) {
  return opcode.operation == Operation::send || opcode.operation == Operation::write;
}

class Follower {
 public:
  Follower(const AnswerEvidence& evidence, const Reading& reading)
      : evidence_(evidence), reading_(reading) {}

  RequestCourse follow() {
    if (evidence_.requests() == 0) return std::move(course_);
    make_steps();
    leave_out_repeated_naks();
    begin_stretch(0, reading_.start.value_or(expected_start(evidence_)), 0);
    for (std::size_t i = 0; i < course_.steps.size(); ++i) decide(i);
    for (Stretch& stretch : course_.stretches) count_messages(stretch);
    limit_receives();
    return std::move(course_);
  }

 private:
  void make_steps() {
    for (std::size_t i = 0; i < evidence_.requests(); ++i) {
      Step step;
      step.request = &evidence_.request(i);
      step.position = evidence_.request_position(i);
      step.psns = evidence_.psns(i);
      step.takes_receive = takes_receive(*step.request->opcode);
      course_.steps.push_back(step);
    }
    course_.answer_positions = evidence_.answer_positions();
  }

  // One NAK that the network delivered twice tells nothing new.
  void leave_out_repeated_naks() {
    std::unordered_set<std::string_view> seen;
    used_.assign(evidence_.answers(), false);
    for (std::size_t k = 0; k < evidence_.answers(); ++k) {
      const Packet& answer = evidence_.answer(k);
      const std::string_view bytes(reinterpret_cast<const char*>(answer.bytes.data()),
                                   answer.bytes.size());
      used_[k] = is_sequence_nak(answer) && !seen.insert(bytes).second;
    }
  }

  void begin_stretch(std::size_t first_step, std::int64_t expected, std::uint64_t missing) {
    Stretch stretch;
    stretch.first_step = first_step;
    stretch.expected = expected;
    const Step& step = course_.steps[first_step];
    stretch.expected_psn = wire::Psn(
        static_cast<std::uint32_t>(step.request->psn().value() + (expected - step.position)));
    stretch.missing = missing;
    course_.stretches.push_back(stretch);
    expected_ = expected;
    nak_sent_ = false;
    ended_ = false;
    at_start_ = true;
  }

  // --- one request after another ---

  void decide(std::size_t i) {
    const Step& step = course_.steps[i];
    if (ended_) return settle(i, Fate::ignored, nullptr);
    if (step.position > expected_) close_gap(i);
    if (step.position < expected_) return settle(i, Fate::duplicate, nullptr);
    if (step.position > expected_) return beyond(i);
    in_sequence(i);
  }

  // A request beyond the expected PSN, when the peer is seen to have executed what lies between
  // although the capture does not hold it: the capture has a hole, where the requests last jump
  // over the expected PSN.
  void close_gap(std::size_t i) {
    const std::size_t begin = evidence_.answers_after(course_.steps[i].request->frame);
    const std::int64_t proved = evidence_.proved_from(begin);
    if (proved <= expected_ || !evidence_.copies(expected_).empty()) return;
    std::size_t proof = begin;
    while (!evidence_.sensible(proof) || evidence_.proves(proof) <= expected_) ++proof;
    if (jumps_again(i, evidence_.answer(proof).frame)) return;
    const std::int64_t expected = std::min(proved, course_.steps[i].position);
    begin_stretch(i, expected, static_cast<std::uint64_t>(expected - expected_));
  }

  // After step `i` and before `frame`, the requests go back before the expected PSN and jump over
  // it once more.
  bool jumps_again(std::size_t i, std::uint32_t frame) const {
    bool back = false;
    for (std::size_t j = i + 1; j < course_.steps.size(); ++j) {
      if (course_.steps[j].request->frame >= frame) return false;
      if (course_.steps[j].position < expected_) {
        back = true;
      } else if (back) {
        return true;
      }
    }
    return false;
  }

  void beyond(std::size_t i) {
    settle(i, Fate::out_of_sequence, nullptr);
    if (nak_sent_) return;
    nak_sent_ = true;
    // The NAK that answers it is accounted for.
    const std::size_t begin = evidence_.answers_after(course_.steps[i].request->frame);
    for (const std::size_t k : evidence_.answers_at(expected_)) {
      if (k < begin || used_[k] || !is_sequence_nak(evidence_.answer(k))) continue;
      used_[k] = true;
      course_.steps[i].verdict = &evidence_.answer(k);
      return;
    }
  }

  void in_sequence(std::size_t i) {
    const Step& step = course_.steps[i];
    const std::uint32_t limit = evidence_.next_copy(step.position, i);
    const Packet* lost = nullptr;
    for (std::size_t k = evidence_.answers_after(step.request->frame); k < evidence_.answers();
         ++k) {
      // Nothing that follows concerns it.
      if (evidence_.proved_from(k) <= step.position && !answered_from(k, step.position)) break;
      if (used_[k] || !evidence_.sensible(k)) continue;
      const Packet& answer = evidence_.answer(k);
      if (lost != nullptr && answer.frame >= limit) break;
      if (evidence_.proves(k) > step.position) {
        // Proved only after it was sent again: it may have been executed then.
        if (answer.frame <= limit || !arrived_later(i, k)) return execute(i, &answer);
        lost = &answer;
        break;
      }
      if (evidence_.answer_position(k) != step.position) continue;
      if (syndrome_of(answer).is_rnr_nak()) {
        // Never sent again and yet acknowledged: the RNR NAK is not to be believed.
        if (limit == kNoFrame && evidence_.proved_from(k + 1) > step.position) continue;
        used_[k] = true;
        nak_sent_ = false;
        return settle(i, Fate::not_ready, &answer);
      }
      if (is_final_nak(answer)) {
        used_[k] = true;
        ended_ = true;
        mark_message_start(i);
        return settle(i, Fate::refused, &answer);
      }
      // A sequence NAK for this very PSN: it had not arrived by then, unless it is acknowledged
      // before it is sent again.
      if (is_sequence_nak(answer) && lost == nullptr) lost = &answer;
    }
    if (lost != nullptr) {
      ++course_.not_received;
      return settle(i, Fate::not_received, lost);
    }
    execute(i, nullptr);
  }

  // Answers of this very position are among those from `k` on.
  bool answered_from(std::size_t k, std::int64_t position) const {
    const std::vector<std::size_t>& answers = evidence_.answers_at(position);
    return !answers.empty() && answers.back() >= k;
  }

  bool arrived_later(std::size_t i, std::size_t proof) const {
    if (reading_.arrival == Arrival::early) return false;
    return reading_.arrival == Arrival::late || msn_denies(i, proof);
  }

  // Whether an answer before answer `end` shows that step `i` was not executed: one to a duplicate
  // captured after it that still carries the MSN from before.
  bool msn_denies(std::size_t i, std::size_t end) const {
    const Step& step = course_.steps[i];
    if (!step.request->opcode->ends_message()) return false;
    const std::optional<std::uint32_t> before = msn_before(i, end);
    for (std::size_t k = evidence_.answers_after(step.request->frame); before && k < end; ++k) {
      const bool too_low = evidence_.has_msn(k) && evidence_.proves(k) <= step.position &&
                           wire::Psn(evidence_.msn(k)).since(wire::Psn(*before)) <= 0;
      if (too_low && answers_duplicate(i, k)) return true;
    }
    return false;
  }

  // The MSN until step `i` is executed: from the answer before `end` that proves most of what comes
  // before the step, and the messages executed since.
  std::optional<std::uint32_t> msn_before(std::size_t i, std::size_t end) const {
    constexpr std::size_t kSearched = 1024;
    const std::int64_t position = course_.steps[i].position;
    std::optional<std::size_t> base;
    for (std::size_t k = end - std::min(end, kSearched); k < end; ++k) {
      if (!evidence_.has_msn(k) || evidence_.proves(k) > position) continue;
      if (!base || evidence_.proves(k) > evidence_.proves(*base)) base = k;
    }
    if (!base) return std::nullopt;
    const auto since = std::lower_bound(ends_.begin(), ends_.end(), evidence_.proves(*base));
    const auto until = std::lower_bound(ends_.begin(), ends_.end(), position);
    return (evidence_.msn(*base) + static_cast<std::uint32_t>(until - since)) & 0xffffff;
  }

  // The request of answer `k` was captured once more after step `i`, when its first copy had been
  // answered already.
  bool answers_duplicate(std::size_t i, std::size_t k) const {
    const std::int64_t position = evidence_.answer_position(k);
    const std::uint32_t repeated = evidence_.next_copy(position, i);
    if (repeated >= evidence_.answer(k).frame) return false;
    const std::vector<std::size_t>& answers = evidence_.answers_at(position);
    return std::any_of(answers.begin(), answers.end(),
                       [&](std::size_t j) { return evidence_.answer(j).frame < repeated; });
  }

  void execute(std::size_t i, const Packet* proof) {
    mark_message_start(i);
    settle(i, Fate::executed, proof);
    if (course_.steps[i].request->opcode->ends_message()) {
      ends_.push_back(course_.steps[i].position);
    }
    expected_ = course_.steps[i].position + course_.steps[i].psns;
    nak_sent_ = false;
  }

  // The stretch begins inside a message when the first request it executes does.
  void mark_message_start(std::size_t i) {
    if (!at_start_) return;
    at_start_ = false;
    const wire::OpcodeInfo& opcode = *course_.steps[i].request->opcode;
    if (!spans_packets(opcode) || opcode.starts_message()) return;
    Stretch& stretch = course_.stretches.back();
    stretch.in_message = true;
    stretch.message_operation = opcode.operation;
    stretch.message_rest = rest_of_message(i);
  }

  // Bytes from this packet to the message's last, as far as it was captured.
  std::uint64_t rest_of_message(std::size_t i) const {
    std::uint64_t bytes = 0;
    for (std::int64_t position = course_.steps[i].position;; ++position) {
      const std::vector<std::size_t>& copies = evidence_.copies(position);
      if (copies.empty()) return bytes;
      const Packet& request = evidence_.request(copies.front());
      bytes += request.payload.size();
      if (request.opcode->ends_message()) return bytes;
    }
  }

  void settle(std::size_t i, Fate fate, const Packet* verdict) {
    Step& step = course_.steps[i];
    step.fate = fate;
    step.verdict = verdict;
    step.stretch = course_.stretches.size() - 1;
  }

  // --- afterwards ---

  void count_messages(Stretch& stretch) {
    std::uint32_t count = 0;
    const std::size_t index = static_cast<std::size_t>(&stretch - course_.stretches.data());
    for (std::size_t i = stretch.first_step; i < course_.steps.size(); ++i) {
      const Step& step = course_.steps[i];
      if (step.stretch != index) break;
      if (step.fate != Fate::executed || !step.request->opcode->ends_message()) continue;
      stretch.completed.emplace_back(step.position, ++count);
    }
    prime_msn(stretch, index);
  }

  // The MSN at the start is what most answers agree on; a fresh connection's zero where they do
  // not. An answer to a duplicate carries the MSN of its own time and says nothing about its PSN.
  void prime_msn(Stretch& stretch, std::size_t index) {
    std::map<std::uint32_t, std::uint32_t> votes;
    std::optional<std::uint32_t> first;
    std::int64_t proved = stretch.expected - 1;
    for (std::size_t k = 0; k < evidence_.answers(); ++k) {
      const Packet& answer = evidence_.answer(k);
      if (!answer.opcode->has(wire::kAeth) || !evidence_.sensible(k) ||
          stretch_at(answer.frame) != index) {
        continue;
      }
      if (evidence_.proves(k) <= proved && (is_positive(answer) || evidence_.proves(k) < proved))
        continue;
      proved = evidence_.proves(k);
      const std::uint32_t counted = stretch.completed_at(proved - 1);
      const std::uint32_t msn = (answer.headers.aeth.msn - counted) & 0xffffff;
      if (!first) first = msn;
      ++votes[msn];
    }
    if (!first) return;
    std::uint32_t best = *first;
    const auto better = [&](std::uint32_t msn) {
      return votes[msn] > votes[best] || (votes[msn] == votes[best] && msn == 0 && index == 0);
    };
    for (const auto& [msn, count] : std::map(votes)) {
      if (better(msn)) best = msn;
    }
    stretch.msn = best;
  }

  std::size_t stretch_at(std::uint32_t frame) const {
    std::size_t index = 0;
    for (std::size_t s = 1; s < course_.stretches.size(); ++s) {
      if (course_.steps[course_.stretches[s].first_step].request->frame < frame) index = s;
    }
    return index;
  }

  // A SEND refused as invalid, or as the peer's own fault, was longer than the receive for it.
  void limit_receives() {
    std::size_t message = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < course_.steps.size(); ++i) {
      Step& step = course_.steps[i];
      const wire::OpcodeInfo& opcode = *step.request->opcode;
      if (opcode.operation != Operation::send) continue;
      if (step.fate != Fate::executed && step.fate != Fate::refused) continue;
      if (opcode.starts_message()) {
        message = i;
        bytes = 0;
      }
      if (step.fate == Fate::refused && !step.request->payload.empty() && means_too_long(step)) {
        course_.steps[message].receive_limit = bytes;
      }
      bytes += step.request->payload.size();
    }
  }

  static bool means_too_long(const Step& step) {
    const wire::Syndrome syndrome = syndrome_of(*step.verdict);
    return syndrome == wire::Syndrome::nak(NakCode::invalid_request) ||
           syndrome == wire::Syndrome::nak(NakCode::remote_operational_error);
  }

  const AnswerEvidence& evidence_;
  Reading reading_;
  RequestCourse course_;
  std::vector<bool> used_;          // the NAK belongs to a request already
  std::vector<std::int64_t> ends_;  // positions of executed messages' last packets
  std::int64_t expected_ = 0;
  bool nak_sent_ = false;
  bool ended_ = false;
  bool at_start_ = true;
};

}  // namespace

std::uint32_t Stretch::completed_at(std::int64_t position) const {
  const auto after = std::upper_bound(
      completed.begin(), completed.end(), position,
      [](std::int64_t p, const std::pair<std::int64_t, std::uint32_t>& c) { return p < c.first; });
  return after == completed.begin() ? 0 : std::prev(after)->second;
}

RequestCourse follow_requests(const AnswerEvidence& evidence, const Reading& reading) {
  return Follower(evidence, reading).follow();
}

}  // namespace softrnic::offline_replay
