// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/answer_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "offline_replay/answer_shape.hpp"
#include "offline_replay/missing_answer.hpp"
#include "offline_replay/request_history.hpp"

namespace softrnic::offline_replay {
namespace {

using Kind = AnswerKind;
using Shape = AnswerShape;

std::string describe(const Packet& packet) {
  return describe_answer(packet.headers, *packet.opcode, packet.payload.size());
}

std::string describe(const EmulatedAnswer& answer) {
  return describe_answer(answer.headers, *answer.opcode, answer.payload.size());
}

template <class Item>
void sort_by_frame(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.frame < b.frame; });
}

class Comparer {
 public:
  Comparer(const Conversation& conversation, const RequestCourse& course,
           std::vector<Emitted> emitted, const std::vector<std::vector<ByteRange>>& disputed,
           const std::vector<const Packet*>& damaged)
      : conversation_(conversation),
        course_(course),
        history_(conversation, course),
        emitted_(std::move(emitted)) {
    for (std::size_t k = 0; k < disputed.size(); ++k) {
      if (!disputed[k].empty()) disputed_[conversation_.answers[k]] = &disputed[k];
    }
    matched_.assign(emitted_.size(), nullptr);
    for (std::size_t e = 0; e < emitted_.size(); ++e) {
      positions_.push_back(position_of(emitted_[e]));
      by_position_[positions_[e]].push_back(e);
    }
    for (const Packet* packet : damaged) damaged_.insert(packet->psn().value());
    follow_progress();
  }

  Comparison compare() {
    for (std::size_t k = 0; k < conversation_.answers.size(); ++k) compare_captured(k);
    for (std::size_t e = 0; e < emitted_.size(); ++e) {
      if (matched_[e] == nullptr) explain_missing(e);
    }
    write_notes();
    result_.lost = lost_.count;
    result_.uncaptured = uncaptured_.count;
    sort_by_frame(result_.differences);
    return std::move(result_);
  }

 private:
  // --- what the emulated responder did ---

  const Step& step_of(std::size_t e) const { return course_.steps[emitted_[e].step]; }
  std::uint32_t cause_frame(std::size_t e) const { return step_of(e).request->frame; }

  std::int64_t position_of(const Emitted& emitted) const {
    const Step& step = course_.steps[emitted.step];
    return step.position + emitted.answer.headers.bth.psn.since(step.request->psn());
  }

  Shape emitted_shape(std::size_t e) const {
    return shape_of(emitted_[e].answer.headers, *emitted_[e].answer.opcode);
  }

  // What the emulated responder has executed after each step: all positions below. It may say so
  // later than the captured one: a responder may acknowledge what nobody asked it to.
  void follow_progress() {
    std::vector<bool> denied(course_.steps.size(), false);
    for (std::size_t e = 0; e < emitted_.size(); ++e) {
      if (!emitted_shape(e).syndrome.is_ack()) denied[emitted_[e].step] = true;
    }
    progress_.assign(course_.steps.size() + 1, std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 0; i < course_.steps.size(); ++i) {
      const Step& step = course_.steps[i];
      const bool executed = step.fate == Fate::executed && !denied[i];
      progress_[i + 1] =
          std::max(progress_[i], executed ? step.position + step.psns : progress_[i]);
    }
  }

  // --- one captured answer ---

  void compare_captured(std::size_t k) {
    const Packet& answer = *conversation_.answers[k];
    const Shape shape = shape_of(answer.headers, *answer.opcode);
    const std::int64_t position = course_.answer_positions[k];
    if (answer.identification != 0 && seen_before(answer)) return note_twice(answer);
    if (match_exactly(answer, shape, position)) {
      answered_ = true;
      return remember(answer);
    }
    const bool again = seen_before(answer);
    remember(answer);
    if (precedes_capture(answer, position)) return;
    if (shape.kind == Kind::acknowledge && match_cumulatively(answer, shape, position)) return;
    if (again) return note_twice(answer);
    if (match_inexactly(answer, shape, position)) return;
    explain_surplus(answer, shape, position);
  }

  static std::string_view text_of(const Packet& packet) {
    return {reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()};
  }
  bool seen_before(const Packet& answer) const { return seen_.count(text_of(answer)) != 0; }
  void remember(const Packet& answer) { seen_.insert(text_of(answer)); }

  void note_twice(const Packet& answer) { count(twice_, answer.frame); }

  bool match_exactly(const Packet& answer, const Shape& shape, std::int64_t position) {
    for (const std::size_t e : candidates(position)) {
      if (matched_[e] != nullptr || cause_frame(e) >= answer.frame) continue;
      if (emitted_shape(e).kind != shape.kind || !differing_fields(answer, e).empty()) continue;
      matched_[e] = &answer;
      ++result_.one_to_one;
      return true;
    }
    return false;
  }

  const std::vector<std::size_t>& candidates(std::int64_t position) const {
    static const std::vector<std::size_t> kNone;
    const auto found = by_position_.find(position);
    return found == by_position_.end() ? kNone : found->second;
  }

  // An answer to requests that the capture lacks: from before its beginning, or from a hole in it.
  // One from before comes before the answers to what was captured, or soon.
  bool precedes_capture(const Packet& answer, std::int64_t position) {
    const Stretch* stretch = history_.stretch_at(answer.frame);
    if (stretch != nullptr) {
      if (position >= stretch->expected) return false;
      const bool first = stretch == &course_.stretches.front();
      if (!first && stretch->missing == 0) return false;
      const Packet& start = *course_.steps[stretch->first_step].request;
      const bool late = answered_ && answer.at > start.at + history_.patience();
      if (late && history_.last_request(position, answer.frame) == nullptr) return false;
    }
    count(uncaptured_, answer.frame);
    return true;
  }

  bool match_cumulatively(const Packet& answer, const Shape& shape, std::int64_t position) {
    if (progress_[history_.steps_before(answer.frame)] <= position) return false;
    const Stretch& stretch = *history_.stretch_at(answer.frame);
    const std::uint32_t expected =
        (stretch.msn.value_or(0) + stretch.completed_at(position)) & 0xffffff;
    if (shape.msn == expected) {
      ++result_.cumulative;
      return true;
    }
    // Where the emulated responder says so itself, its own word stands in the report.
    for (const std::size_t e : candidates(position)) {
      if (emitted_shape(e).kind == Kind::acknowledge && cause_frame(e) < answer.frame) {
        matched_[e] = &answer;
        differ(answer.frame, describe(answer), describe(emitted_[e].answer), kMsnRule);
        return true;
      }
    }
    differ(answer.frame, describe(answer),
           fmt::format("MSN {} once PSN {} is acknowledged", expected, answer.psn().value()),
           kMsnRule);
    return true;
  }

  // An answer of the same kind, or else any, that the emulated responder gives for this PSN.
  bool match_inexactly(const Packet& answer, const Shape& shape, std::int64_t position) {
    const std::optional<std::size_t> nearest = nearest_answer(answer, shape, position);
    if (!nearest) return false;
    const Shape emitted = emitted_shape(*nearest);
    if (const KnownDeviation* known = explain(answer, *nearest)) {
      matched_[*nearest] = &answer;
      note_deviation(known, answer.frame);
      return true;
    }
    if (emitted.kind != shape.kind && explains_alone(answer, shape, position)) return true;

    matched_[*nearest] = &answer;
    std::string captured = describe(answer);
    std::string emulated = describe(emitted_[*nearest].answer);
    std::string_view rule = rule_of(emitted.kind);
    if (const auto fields = differing_fields(answer, *nearest); !fields.empty()) {
      if (!fields.front().rule.empty()) rule = fields.front().rule;
      captured += fields.front().captured;
      emulated += fields.front().emulated;
    }
    differ(answer.frame, captured, emulated, rule);
    return true;
  }

  // A known deviation that is all in which the two differ.
  const KnownDeviation* explain(const Packet& answer, std::size_t e) const {
    const Shape captured = shape_of(answer.headers, *answer.opcode);
    const Shape emulated = emitted_shape(e);
    const bool same_msn = !captured.msn || !emulated.msn || captured.msn == emulated.msn;
    if (!same_msn) return nullptr;
    if (captured.kind == Kind::read && emulated.kind == Kind::read) {
      std::vector<FieldDifference> fields;
      add_payload_difference(answer, emitted_[e].answer, fields);
      if (!fields.empty()) return nullptr;
      return explain_opcode(step_of(e), answer.opcode->opcode, emitted_[e].answer.opcode->opcode);
    }
    return explain_syndrome(*step_of(e).request, captured.syndrome, emulated.syndrome);
  }

  // Of the unmatched answers for this PSN the most alike; of those the last.
  std::optional<std::size_t> nearest_answer(const Packet& answer, const Shape& shape,
                                            std::int64_t position) const {
    std::optional<std::size_t> nearest;
    std::size_t least = 0;
    for (const std::size_t e : candidates(position)) {
      if (matched_[e] != nullptr || cause_frame(e) >= answer.frame) continue;
      constexpr std::size_t kOtherKind = 100;
      const std::size_t distance = differing_fields(answer, e).size() +
                                   (emitted_shape(e).kind == shape.kind ? 0 : kOtherKind);
      if (nearest && distance > least) continue;
      nearest = e;
      least = distance;
    }
    return nearest;
  }

  // Captured answers to which the emulated responder has nothing to say, for reasons that are no
  // difference.
  bool explains_alone(const Packet& answer, const Shape& shape, std::int64_t position) {
    const Step* step = history_.last_request(position, answer.frame);
    if (step == nullptr) return false;
    if (shape.kind == Kind::rnr && step->fate == Fate::not_ready && !step->takes_receive &&
        history_.comes_again(*step)) {
      count(not_ready_otherwise_, answer.frame);
      return true;
    }
    if (const KnownDeviation* known = explain_answer(*step, shape.syndrome)) {
      note_deviation(known, answer.frame);
      return true;
    }
    if (shape.kind == Kind::sequence_nak && step->fate == Fate::executed &&
        history_.overtaken(*step, answer.frame) && history_.goes_back(position, answer)) {
      count(reordered_, answer.frame);
      return true;
    }
    return false;
  }

  void explain_surplus(const Packet& answer, const Shape& shape, std::int64_t position) {
    if (explains_alone(answer, shape, position)) return;
    // To a copy of the first request that came before the capture.
    const Step& first = course_.steps.front();
    const bool early = answer.at <= first.request->at + history_.patience();
    if (early && position <= first.position && is_positive(answer)) {
      return count(uncaptured_, answer.frame);
    }
    differ(answer.frame, describe(answer), "nothing", rule_of(shape.kind));
  }

  // --- fields ---

  struct FieldDifference {
    std::string_view rule;
    std::string captured;  // appended to the description
    std::string emulated;
  };

  std::vector<FieldDifference> differing_fields(const Packet& answer, std::size_t e) const {
    const EmulatedAnswer& emulated = emitted_[e].answer;
    const Shape a = shape_of(answer.headers, *answer.opcode);
    const Shape b = emitted_shape(e);
    std::vector<FieldDifference> fields;
    if (answer.opcode != emulated.opcode || a.kind != b.kind ||
        a.syndrome_class() != b.syndrome_class()) {
      fields.push_back({});
      return fields;
    }
    if (a.msn != b.msn) fields.push_back({kMsnRule, {}, {}});
    if (a.kind == Kind::atomic &&
        answer.headers.atomic_ack_eth.original != emulated.headers.atomic_ack_eth.original) {
      fields.push_back({kAtomicRule, {}, {}});
    }
    if (a.kind == Kind::read) add_payload_difference(answer, emulated, fields);
    return fields;
  }

  void add_payload_difference(const Packet& answer, const EmulatedAnswer& emulated,
                              std::vector<FieldDifference>& fields) const {
    if (answer.payload.size() != emulated.payload.size()) {
      fields.push_back({rule_of(Kind::read), {}, {}});
      return;
    }
    static const std::vector<ByteRange> kNone;
    const auto disputed = disputed_.find(&answer);
    const auto& left_out = disputed == disputed_.end() ? kNone : *disputed->second;
    for (const ByteRange& part : parts_outside(left_out, answer.captured_payload)) {
      for (std::uint64_t i = part.begin; i < part.end; ++i) {
        if (answer.payload[i] == emulated.payload[i]) continue;
        fields.push_back({kPayloadRule, describe_byte(i, answer.payload[i]),
                          describe_byte(i, emulated.payload[i])});
        return;
      }
    }
  }

  static std::string describe_byte(std::uint64_t at, std::byte value) {
    return fmt::format(", byte {} is {:#04x}", at, std::to_integer<int>(value));
  }

  // --- answers the capture lacks ---

  void explain_missing(std::size_t e) {
    if (damaged_.count(emitted_[e].answer.headers.bth.psn.value()) != 0) return;
    const Kind kind = emitted_shape(e).kind;
    if (kind == Kind::read && reads_reported_.count(emitted_[e].step) != 0) return;
    if (kind == Kind::read && answered_by_tail(e)) return;
    const std::uint32_t frame = cause_frame(e);
    switch (explain_absence(history_, {emitted_[e].step, positions_[e], kind})) {
      case Absence::covered:
        return;
      case Absence::unanswered:
        return count(unanswered_, frame);
      case Absence::lost:
        return count(lost_, frame);
      case Absence::doubtful:
        result_.doubtful.push_back(
            {frame, "nothing", describe(emitted_[e].answer), std::string(rule_of(kind))});
        return;
      case Absence::withheld:
        reads_reported_.insert(emitted_[e].step);
        return differ(frame, "nothing", describe(emitted_[e].answer), rule_of(kind));
    }
  }

  // A repeated READ whose response was taken for a late one to the first READ, since the captured
  // peer answers repetitions with the first one's packets.
  bool answered_by_tail(std::size_t e) {
    for (const std::size_t other : candidates(positions_[e])) {
      const Packet* answer = matched_[other];
      if (answer == nullptr || answer->frame <= cause_frame(e)) continue;
      if (const KnownDeviation* known = explain_opcode(step_of(e), answer->opcode->opcode,
                                                       emitted_[e].answer.opcode->opcode)) {
        note_deviation(known, answer->frame);
        return true;
      }
    }
    return false;
  }

  // --- the result ---

  void differ(std::uint32_t frame, std::string captured, std::string emulated,
              std::string_view rule) {
    result_.differences.push_back(
        {frame, std::move(captured), std::move(emulated), std::string(rule)});
  }

  void note_deviation(const KnownDeviation* deviation, std::uint32_t frame) {
    for (DeviationSeen& seen : result_.deviations) {
      if (seen.deviation == deviation) {
        ++seen.count;
        seen.frame = std::min(seen.frame, frame);
        return;
      }
    }
    result_.deviations.push_back({deviation, frame, 1});
  }

  struct Tally {
    std::uint32_t count = 0;
    std::uint32_t frame = 0;
  };
  static void count(Tally& tally, std::uint32_t frame) {
    if (tally.count++ == 0 || frame < tally.frame) tally.frame = frame;
  }

  void write_notes() {
    const auto note = [this](const Tally& tally, std::string_view text) {
      if (tally.count != 0) {
        result_.notes.push_back({tally.frame, fmt::format("{} {}", tally.count, text)});
      }
    };
    note(uncaptured_, "captured answers to requests that the capture does not hold: not compared");
    note(twice_, "captured answers that the network delivered twice");
    note(lost_,
         "answers that the capture lacks and that the requester missed, too: it asked again");
    note(unanswered_, "answers that the capture does not hold: it ends, or the peer fell silent");
    note(reordered_, "NAKs for requests that overtook one another behind the point of capture");
    note(not_ready_otherwise_,
         "RNR NAKs for requests that need no receive: the peer was not ready for its own reasons");
  }

  const Conversation& conversation_;
  const RequestCourse& course_;
  RequestHistory history_;
  std::vector<Emitted> emitted_;
  std::vector<const Packet*> matched_;  // the captured answer that each was met by, or null
  std::vector<std::int64_t> positions_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> by_position_;
  std::unordered_map<const Packet*, const std::vector<ByteRange>*> disputed_;
  std::unordered_set<std::uint32_t> damaged_;  // PSNs
  std::vector<std::int64_t> progress_;
  std::unordered_set<std::string_view> seen_;
  std::unordered_set<std::size_t> reads_reported_;
  bool answered_ = false;  // something captured was
  Tally uncaptured_, twice_, lost_, unanswered_, reordered_, not_ready_otherwise_;
  Comparison result_;
};

}  // namespace

Comparison compare_answers(const Conversation& conversation, const RequestCourse& course,
                           std::vector<Emitted> emitted,
                           const std::vector<std::vector<ByteRange>>& disputed,
                           const std::vector<const Packet*>& damaged) {
  return Comparer(conversation, course, std::move(emitted), disputed, damaged).compare();
}

void settle_doubtful(Comparison& comparison, bool frames_are_lost) {
  std::vector<Difference>& doubtful = comparison.doubtful;
  if (doubtful.empty()) return;
  if (frames_are_lost) {
    comparison.notes.push_back(
        {doubtful.front().frame,
         fmt::format("{} NAKs that the capture lacks, as it lacks other frames of this peer",
                     doubtful.size())});
    sort_by_frame(comparison.notes);
  } else {
    std::move(doubtful.begin(), doubtful.end(), std::back_inserter(comparison.differences));
    sort_by_frame(comparison.differences);
  }
  doubtful.clear();
}

}  // namespace softrnic::offline_replay
