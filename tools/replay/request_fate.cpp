// SPDX-License-Identifier: BSD-3-Clause
#include "replay/request_fate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace softrnic::replay {
namespace {

using wire::NakCode;
using wire::Operation;

// PSNs that a peer may be ahead of a requester that repeats itself.
constexpr std::int64_t kPlausibleLead = 1 << 16;
// Answers from which another start is taken.
constexpr std::size_t kStartsTried = 8;
constexpr std::size_t kStartSearched = 256;
constexpr std::uint32_t kNoFrame = std::numeric_limits<std::uint32_t>::max();

bool is_sequence_nak(const Packet& answer) {
  return syndrome_of(answer) == wire::Syndrome::nak(NakCode::psn_sequence_error);
}

bool is_final_nak(const Packet& answer) {
  return syndrome_of(answer).is_nak() && !is_sequence_nak(answer);
}

bool takes_receive(const wire::OpcodeInfo& opcode) {
  if (opcode.operation == Operation::send) return opcode.starts_message();
  return opcode.operation == Operation::write && opcode.has(wire::kImmDt);
}

bool spans_packets(const wire::OpcodeInfo& opcode) {
  return opcode.operation == Operation::send || opcode.operation == Operation::write;
}

class Follower {
 public:
  Follower(const Conversation& conversation, const Reading& reading)
      : conversation_(conversation), reading_(reading) {}

  RequestCourse follow() {
    if (conversation_.requests.empty()) return std::move(course_);
    place_requests();
    place_answers();
    begin_stretch(0, reading_.start.value_or(first_expected()), 0);
    for (std::size_t i = 0; i < course_.steps.size(); ++i) decide(i);
    for (Stretch& stretch : course_.stretches) count_messages(stretch);
    limit_receives();
    return std::move(course_);
  }

  std::vector<std::int64_t> possible_starts() {
    std::vector<std::int64_t> starts;
    if (conversation_.requests.empty()) return starts;
    place_requests();
    place_answers();
    const bool in_order = begins_in_order();
    const auto add = [&starts](std::int64_t start) {
      const bool plausible = start > -kPlausibleLead && start < kPlausibleLead;
      if (plausible && std::find(starts.begin(), starts.end(), start) == starts.end()) {
        starts.push_back(start);
      }
    };
    const std::size_t begin = answers_after(course_.steps.front().request->frame);
    for (std::size_t k = begin; k < answers_within(begin, kStartsTried) && !in_order; ++k) {
      add(proves(k));
    }
    // Answers to repetitions all carry one MSN; the last of them may be to a new request.
    std::vector<std::int64_t> same_msn;
    std::optional<std::uint32_t> msn;
    for (std::size_t k = begin; k < answers_within(begin, kStartSearched); ++k) {
      if (!has_msn(k)) continue;
      if (!msn) msn = msn_of(k);
      if (msn_of(k) == *msn) same_msn.push_back(proves(k));
    }
    std::sort(same_msn.rbegin(), same_msn.rend());
    same_msn.erase(std::unique(same_msn.begin(), same_msn.end()), same_msn.end());
    constexpr std::size_t kRepetitions = 3;
    if (in_order && same_msn.size() < kRepetitions) return starts;
    for (std::size_t i = 0; i < std::min<std::size_t>(same_msn.size(), 2); ++i) add(same_msn[i]);
    return starts;
  }

 private:
  std::size_t answers_within(std::size_t begin, std::size_t count) const {
    return std::min(begin + count, conversation_.answers.size());
  }

  // The capture begins with a message, and no request comes twice or too late before the first
  // few answers.
  bool begins_in_order() const {
    if (!course_.steps.front().request->opcode->starts_message()) return false;
    const std::size_t begin = answers_after(course_.steps.front().request->frame);
    if (begin > 0) return false;
    const std::size_t last = std::min(kStartsTried, conversation_.answers.size());
    const std::uint32_t limit = last == 0 ? kNoFrame : conversation_.answers[last - 1]->frame;
    for (std::size_t i = 1; i < course_.steps.size(); ++i) {
      if (course_.steps[i].request->frame > limit) break;
      if (course_.steps[i].position < highs_[i - 1]) return false;
    }
    return true;
  }

  // --- positions: PSNs without wrap ---

  void place_requests() {
    wire::Psn anchor = conversation_.requests.front()->psn();
    std::int64_t anchor_position = 0;
    std::int64_t high = 0;
    for (const Packet* request : conversation_.requests) {
      Step step;
      step.request = request;
      step.position = anchor_position + request->psn().since(anchor);
      step.psns = psns_of(*request);
      step.takes_receive = takes_receive(*request->opcode);
      if (step.position >= anchor_position) {
        anchor = request->psn();
        anchor_position = step.position;
      }
      high = std::max(high, step.position + step.psns);
      highs_.push_back(high);
      copies_[step.position].push_back(course_.steps.size());
      course_.steps.push_back(step);
    }
  }

  std::uint32_t psns_of(const Packet& request) const {
    if (request.opcode->operation != Operation::read_request) return 1;
    const std::uint64_t length = request.headers.reth.dma_length;
    const std::uint64_t mtu = conversation_.path_mtu;
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((length + mtu - 1) / mtu));
  }

  // An answer's position is near what had been requested when it came.
  void place_answers() {
    std::unordered_set<std::string_view> seen_naks;
    std::size_t next = 0;
    const std::vector<Step>& steps = course_.steps;
    for (const Packet* answer : conversation_.answers) {
      while (next < steps.size() && steps[next].request->frame < answer->frame) ++next;
      const std::size_t last = next == 0 ? 0 : next - 1;
      const Step& near = steps[last];
      course_.answer_positions.push_back(near.position + answer->psn().since(near.request->psn()));
      requested_.push_back(next == 0 ? std::numeric_limits<std::int64_t>::min() : highs_[last]);
      // One NAK that the network delivered twice tells nothing new.
      const std::string_view bytes(reinterpret_cast<const char*>(answer->bytes.data()),
                                   answer->bytes.size());
      used_.push_back(is_sequence_nak(*answer) && !seen_naks.insert(bytes).second);
      answers_at_[course_.answer_positions.back()].push_back(requested_.size() - 1);
    }
  }

  // --- reading the answers ---

  std::size_t answers_after(std::uint32_t frame) const {
    const auto& answers = conversation_.answers;
    return static_cast<std::size_t>(
        std::upper_bound(answers.begin(), answers.end(), frame,
                         [](std::uint32_t f, const Packet* a) { return f < a->frame; }) -
        answers.begin());
  }

  // All positions below this are proved to be executed.
  std::int64_t proves(std::size_t answer) const {
    const bool positive = is_positive(*conversation_.answers[answer]);
    return course_.answer_positions[answer] + (positive ? 1 : 0);
  }

  // An answer to something never asked for proves nothing.
  bool sensible(std::size_t answer) const {
    return course_.answer_positions[answer] < requested_[answer] ||
           (!is_positive(*conversation_.answers[answer]) &&
            course_.answer_positions[answer] <= requested_[answer]);
  }

  // Frame of the next captured request of this position after step `i`.
  std::uint32_t next_copy(std::int64_t position, std::size_t i) const {
    const auto found = copies_.find(position);
    if (found == copies_.end()) return kNoFrame;
    const auto next = std::upper_bound(found->second.begin(), found->second.end(), i);
    return next == found->second.end() ? kNoFrame : course_.steps[*next].request->frame;
  }

  // --- the start ---

  // The PSN expected when the first captured request arrived. Where no connection manager told it,
  // it is that request's own, unless the first answers show that the peer waited for an earlier
  // one, or had been farther already.
  std::int64_t first_expected() const {
    const Step& first = course_.steps.front();
    if (conversation_.first_psn) {
      const std::int32_t ahead = first.request->psn().since(*conversation_.first_psn);
      if (ahead >= 0) return -ahead;
    }
    if (const std::int64_t executed = executed_before(); executed > 0) return executed;
    std::int64_t lowest = 0;
    std::size_t next = 0;
    for (std::size_t k = answers_after(first.request->frame); k < conversation_.answers.size();
         ++k) {
      const Packet& answer = *conversation_.answers[k];
      for (; next < course_.steps.size() && course_.steps[next].request->frame < answer.frame;
           ++next) {
        lowest = std::min(lowest, course_.steps[next].position);
      }
      const std::int64_t position = course_.answer_positions[k];
      if (is_positive(answer) && position < 0) continue;  // to requests before the capture
      if (is_sequence_nak(answer) && position <= 0) return position;
      if (is_positive(answer) && position >= requested_[k]) return position + 1;
      break;
    }
    return lowest;
  }

  // A capture that begins among repetitions: what answers before its first request prove, or what
  // READ and atomic responses of one and the same MSN answer, for executed anew each would have
  // counted.
  std::int64_t executed_before() const {
    const std::size_t begin = answers_after(course_.steps.front().request->frame);
    std::int64_t proved = 0;
    for (std::size_t k = 0; k < begin; ++k) proved = std::max(proved, proves(k));
    if (proved > 0) return proved < kPlausibleLead ? proved : 0;

    std::optional<std::uint32_t> msn;
    std::int64_t repeated = 0;
    for (std::size_t k = begin; k < conversation_.answers.size(); ++k) {
      const Packet& answer = *conversation_.answers[k];
      if (answer.opcode->operation == Operation::acknowledge || !has_msn(k) ||
          proves(k) <= proved) {
        if (answer.opcode->operation == Operation::acknowledge) break;
        continue;
      }
      const bool new_message = copies_.count(course_.answer_positions[k]) != 0;
      if (msn && new_message && msn_of(k) != *msn) {
        return msn_of(k) == ((*msn + 1) & 0xffffff) ? repeated : 0;
      }
      if (msn && new_message) repeated = proves(k);
      msn = msn_of(k);
      proved = proves(k);
    }
    return 0;
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
    if (ended_) {
      if (!revived(i)) return settle(i, Fate::ignored, nullptr);
      begin_stretch(i, step.position, 0);
    }
    if (step.position > expected_) close_gap(i);
    if (step.position < expected_) return settle(i, Fate::duplicate, nullptr);
    if (step.position > expected_) return beyond(i);
    in_sequence(i);
  }

  // A connection that had ended answers again: a new one on the same numbers.
  bool revived(std::size_t i) const {
    const Step& step = course_.steps[i];
    for (std::size_t k = answers_after(step.request->frame); k < conversation_.answers.size();
         ++k) {
      if (sensible(k) && is_positive(*conversation_.answers[k]) && proves(k) > step.position) {
        return true;
      }
    }
    return false;
  }

  // A request beyond the expected PSN, when the peer is seen to have executed what lies between
  // although the capture does not hold it: the capture has a hole, where the requests last jump
  // over the expected PSN.
  void close_gap(std::size_t i) {
    const std::uint32_t limit = next_copy(expected_, i);
    std::int64_t proved = expected_;
    std::uint32_t proof = kNoFrame;
    for (std::size_t k = answers_after(course_.steps[i].request->frame);
         k < conversation_.answers.size(); ++k) {
      const std::uint32_t frame = conversation_.answers[k]->frame;
      if (frame >= limit) break;
      if (!sensible(k) || proves(k) <= proved) continue;
      proof = std::min(proof, frame);
      proved = proves(k);
    }
    if (proved <= expected_ || jumps_again(i, proof)) return;
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
    for (std::size_t k = answers_after(course_.steps[i].request->frame);
         k < conversation_.answers.size(); ++k) {
      if (!used_[k] && is_sequence_nak(*conversation_.answers[k]) &&
          course_.answer_positions[k] == expected_) {
        used_[k] = true;
        course_.steps[i].verdict = conversation_.answers[k];
        return;
      }
    }
  }

  void in_sequence(std::size_t i) {
    const Step& step = course_.steps[i];
    const std::uint32_t limit = next_copy(step.position, i);
    const Packet* lost = nullptr;
    for (std::size_t k = answers_after(step.request->frame); k < conversation_.answers.size();
         ++k) {
      if (used_[k] || !sensible(k)) continue;
      const Packet& answer = *conversation_.answers[k];
      if (lost != nullptr && answer.frame >= limit) break;
      const std::int64_t position = course_.answer_positions[k];
      if (proves(k) > step.position) {
        // Proved only after it was sent again: it may have been executed then.
        if (answer.frame > limit && arrived_later(i, k)) lost = &answer;
        if (lost != nullptr) break;
        return execute(i, &answer);
      }
      if (position != step.position) continue;
      if (syndrome_of(answer).is_rnr_nak()) {
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
    for (std::size_t k = answers_after(step.request->frame); before && k < end; ++k) {
      const bool too_low = has_msn(k) && proves(k) <= step.position &&
                           wire::Psn(msn_of(k)).since(wire::Psn(*before)) <= 0;
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
      if (!has_msn(k) || proves(k) > position) continue;
      if (!base || proves(k) > proves(*base)) base = k;
    }
    if (!base) return std::nullopt;
    const auto since = std::lower_bound(ends_.begin(), ends_.end(), proves(*base));
    const auto until = std::lower_bound(ends_.begin(), ends_.end(), position);
    return (msn_of(*base) + static_cast<std::uint32_t>(until - since)) & 0xffffff;
  }

  bool has_msn(std::size_t k) const {
    const Packet& answer = *conversation_.answers[k];
    return is_positive(answer) && answer.opcode->has(wire::kAeth);
  }
  std::uint32_t msn_of(std::size_t k) const { return conversation_.answers[k]->headers.aeth.msn; }

  const std::vector<std::size_t>& answers_at(std::int64_t position) const {
    static const std::vector<std::size_t> kNone;
    const auto found = answers_at_.find(position);
    return found == answers_at_.end() ? kNone : found->second;
  }

  // The request of answer `k` was captured once more after step `i`, when its first copy had been
  // answered already.
  bool answers_duplicate(std::size_t i, std::size_t k) const {
    const std::int64_t position = course_.answer_positions[k];
    const auto copies = copies_.find(position);
    if (copies == copies_.end()) return false;
    const auto copy = std::upper_bound(copies->second.begin(), copies->second.end(), i);
    if (copy == copies->second.end()) return false;
    const std::uint32_t repeated = course_.steps[*copy].request->frame;
    if (repeated >= conversation_.answers[k]->frame) return false;
    const std::vector<std::size_t>& answers = answers_at(position);
    return std::any_of(answers.begin(), answers.end(),
                       [&](std::size_t j) { return conversation_.answers[j]->frame < repeated; });
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
      const auto copy = copies_.find(position);
      if (copy == copies_.end()) return bytes;
      const Packet& request = *course_.steps[copy->second.front()].request;
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
    for (std::size_t k = 0; k < conversation_.answers.size(); ++k) {
      const Packet& answer = *conversation_.answers[k];
      if (!answer.opcode->has(wire::kAeth) || !sensible(k) || stretch_at(answer.frame) != index) {
        continue;
      }
      if (proves(k) <= proved && (is_positive(answer) || proves(k) < proved)) continue;
      proved = proves(k);
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

  const Conversation& conversation_;
  Reading reading_;
  RequestCourse course_;
  std::vector<std::int64_t> highs_;      // requested up to and including each step
  std::vector<std::int64_t> requested_;  // requested when each answer came
  std::vector<bool> used_;               // the NAK belongs to a request already
  std::unordered_map<std::int64_t, std::vector<std::size_t>> copies_;      // steps by position
  std::unordered_map<std::int64_t, std::vector<std::size_t>> answers_at_;  // answers by position
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

RequestCourse follow_requests(const Conversation& conversation, const Reading& reading) {
  return Follower(conversation, reading).follow();
}

std::vector<std::int64_t> possible_starts(const Conversation& conversation) {
  return Follower(conversation, {}).possible_starts();
}

bool is_positive(const Packet& answer) {
  return answer.opcode->operation != Operation::acknowledge || syndrome_of(answer).is_ack();
}

wire::Syndrome syndrome_of(const Packet& answer) {
  return answer.opcode->has(wire::kAeth) ? answer.headers.aeth.syndrome : wire::Syndrome::ack();
}

}  // namespace softrnic::replay
