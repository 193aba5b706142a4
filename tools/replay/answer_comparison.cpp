// SPDX-License-Identifier: BSD-3-Clause
#include "replay/answer_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace softrnic::replay {
namespace {

using wire::NakCode;
using wire::Operation;
using wire::Syndrome;

constexpr std::string_view kAnswerRule = "IBTA vol. 1, 9.7.5: every request is answered so";
constexpr std::string_view kMsnRule =
    "IBTA vol. 1, 9.7.7: the MSN counts the messages that are complete";
constexpr std::string_view kPayloadRule =
    "IBTA vol. 1, 9.7.5.1.3: a READ response carries the bytes the memory holds";
constexpr std::string_view kAtomicRule =
    "IBTA vol. 1, 9.4.5: an atomic response carries the value from before the operation";
constexpr std::string_view kSequenceRule =
    "IBTA vol. 1, 9.7.5.2.8: a request beyond the expected PSN is answered by one NAK that names "
    "the expected one";
constexpr std::string_view kFatalRule = "IBTA vol. 1, 9.9.3: errors a responder finds in a request";
constexpr std::string_view kRnrRule =
    "IBTA vol. 1, 9.7.5.2.8: a request that finds no receive is answered by an RNR NAK";

enum class Kind : std::uint8_t { acknowledge, rnr, sequence_nak, final_nak, read, atomic };

struct Shape {
  Kind kind{};
  Syndrome syndrome;
  std::optional<std::uint32_t> msn;
};

Shape shape_of(const wire::TransportHeaders& headers, const wire::OpcodeInfo& opcode) {
  Shape shape;
  const bool has_aeth = opcode.has(wire::kAeth);
  shape.syndrome = has_aeth ? headers.aeth.syndrome : Syndrome::ack();
  if (has_aeth) shape.msn = headers.aeth.msn;
  if (opcode.operation == Operation::read_response) {
    shape.kind = Kind::read;
  } else if (opcode.operation == Operation::atomic_acknowledge) {
    shape.kind = Kind::atomic;
  } else if (shape.syndrome.is_rnr_nak()) {
    shape.kind = Kind::rnr;
  } else if (shape.syndrome == Syndrome::nak(NakCode::psn_sequence_error)) {
    shape.kind = Kind::sequence_nak;
  } else if (!shape.syndrome.is_ack()) {
    shape.kind = Kind::final_nak;
  }
  return shape;
}

std::string describe_syndrome(Syndrome syndrome) {
  switch (syndrome.kind()) {
    case Syndrome::Kind::ack:
      return "ACK";
    case Syndrome::Kind::rnr_nak:
      return fmt::format("RNR NAK (timer {})", syndrome.value());
    case Syndrome::Kind::nak:
      return fmt::format("NAK {:#04x} ({})", syndrome.raw(),
                         to_string(static_cast<NakCode>(syndrome.value())));
    case Syndrome::Kind::reserved:
      break;
  }
  return fmt::format("reserved syndrome {:#04x}", syndrome.raw());
}

std::string describe(const wire::TransportHeaders& headers, const wire::OpcodeInfo& opcode,
                     std::size_t payload) {
  std::string text = opcode.operation == Operation::acknowledge
                         ? describe_syndrome(headers.aeth.syndrome)
                         : std::string(opcode.name);
  text += fmt::format(", PSN {}", headers.bth.psn.value());
  if (opcode.has(wire::kAeth)) text += fmt::format(", MSN {}", headers.aeth.msn);
  if (opcode.has(wire::kAtomicAckEth)) {
    text += fmt::format(", original {:#018x}", headers.atomic_ack_eth.original);
  }
  if (opcode.operation == Operation::read_response) text += fmt::format(", {} bytes", payload);
  return text;
}

std::string describe(const Packet& packet) {
  return describe(packet.headers, *packet.opcode, packet.payload.size());
}

std::string describe(const EmulatedAnswer& answer) {
  return describe(answer.headers, *answer.opcode, answer.payload.size());
}

std::string_view rule_of(Kind kind) {
  switch (kind) {
    case Kind::acknowledge:
    case Kind::read:
    case Kind::atomic:
      return kAnswerRule;
    case Kind::rnr:
      return kRnrRule;
    case Kind::sequence_nak:
      return kSequenceRule;
    case Kind::final_nak:
      return kFatalRule;
  }
  return kAnswerRule;
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
      : conversation_(conversation), course_(course), emitted_(std::move(emitted)) {
    for (std::size_t k = 0; k < disputed.size(); ++k) {
      if (!disputed[k].empty()) disputed_[conversation_.answers[k]] = &disputed[k];
    }
    matched_.assign(emitted_.size(), false);
    for (std::size_t e = 0; e < emitted_.size(); ++e) {
      positions_.push_back(position_of(emitted_[e]));
      by_position_[positions_[e]].push_back(e);
    }
    for (const Packet* packet : damaged) damaged_.insert(packet->psn().value());
    for (const Packet* request : conversation_.requests) request_frames_.push_back(request->frame);
    follow_progress();
    find_patience();
  }

  Comparison compare() {
    for (std::size_t k = 0; k < conversation_.answers.size(); ++k) compare_captured(k);
    for (std::size_t e = 0; e < emitted_.size(); ++e) {
      if (!matched_[e]) explain_missing(e);
    }
    write_notes();
    result_.lost = lost_.count;
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
      const Syndrome syndrome = emitted_shape(e).syndrome;
      if (!syndrome.is_ack()) denied[emitted_[e].step] = true;
    }
    progress_.assign(course_.steps.size() + 1, std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 0; i < course_.steps.size(); ++i) {
      const Step& step = course_.steps[i];
      const bool executed = step.fate == Fate::executed && !denied[i];
      progress_[i + 1] =
          std::max(progress_[i], executed ? step.position + step.psns : progress_[i]);
    }
  }

  // Steps fed before this frame.
  std::size_t steps_before(std::uint32_t frame) const {
    return static_cast<std::size_t>(
        std::lower_bound(request_frames_.begin(), request_frames_.end(), frame) -
        request_frames_.begin());
  }

  const Stretch* stretch_at(std::uint32_t frame) const {
    const std::size_t before = steps_before(frame);
    if (before == 0) return nullptr;
    return &course_.stretches[course_.steps[before - 1].stretch];
  }

  // --- one captured answer ---

  void compare_captured(std::size_t k) {
    const Packet& answer = *conversation_.answers[k];
    const Shape shape = shape_of(answer.headers, *answer.opcode);
    const std::int64_t position = course_.answer_positions[k];
    if (answer.identification != 0 && seen_before(answer)) return note_twice(answer);
    if (match_exactly(answer, shape, position)) return remember(answer);
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
      if (matched_[e] || cause_frame(e) >= answer.frame) continue;
      if (emitted_shape(e).kind != shape.kind || !differing_fields(answer, e).empty()) continue;
      matched_[e] = true;
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

  // An answer to requests that the capture lacks.
  bool precedes_capture(const Packet& answer, std::int64_t position) {
    const Stretch* stretch = stretch_at(answer.frame);
    if (stretch != nullptr && position >= stretch->expected) return false;
    if (stretch != nullptr && position < stretch->expected &&
        stretch != &course_.stretches.front() && stretch->missing == 0) {
      return false;
    }
    count(uncaptured_, answer.frame);
    return true;
  }

  bool match_cumulatively(const Packet& answer, const Shape& shape, std::int64_t position) {
    if (progress_[steps_before(answer.frame)] <= position) return false;
    const Stretch& stretch = *stretch_at(answer.frame);
    const std::uint32_t expected =
        (stretch.msn.value_or(0) + stretch.completed_at(position)) & 0xffffff;
    if (shape.msn == expected) {
      ++result_.cumulative;
      return true;
    }
    // Where the emulated responder says so itself, its own word stands in the report.
    for (const std::size_t e : candidates(position)) {
      if (emitted_shape(e).kind == Kind::acknowledge && cause_frame(e) < answer.frame) {
        matched_[e] = true;
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
      matched_[*nearest] = true;
      note_deviation(known, answer.frame);
      return true;
    }
    if (emitted.kind != shape.kind && explains_alone(answer, shape, position)) return true;

    matched_[*nearest] = true;
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
      if (matched_[e] || cause_frame(e) >= answer.frame) continue;
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
    const Step* step = last_request(position, answer.frame);
    if (step == nullptr) return false;
    if (shape.kind == Kind::rnr && step->fate == Fate::not_ready && !step->takes_receive) {
      count(not_ready_otherwise_, answer.frame);
      return true;
    }
    if (const KnownDeviation* known = explain_answer(*step, shape.syndrome)) {
      note_deviation(known, answer.frame);
      return true;
    }
    if (shape.kind == Kind::sequence_nak && step->fate == Fate::executed &&
        overtaken(position, *step, answer.frame)) {
      count(reordered_, answer.frame);
      return true;
    }
    return false;
  }

  void explain_surplus(const Packet& answer, const Shape& shape, std::int64_t position) {
    if (explains_alone(answer, shape, position)) return;
    // To a copy of the first request that came before the capture.
    if (position <= course_.steps.front().position && is_positive(answer)) {
      return count(uncaptured_, answer.frame);
    }
    differ(answer.frame, describe(answer), "nothing", rule_of(shape.kind));
  }

  // The last request before `frame` that asks for this position.
  const Step* last_request(std::int64_t position, std::uint32_t frame) const {
    for (std::size_t i = steps_before(frame); i-- > 0;) {
      const Step& step = course_.steps[i];
      if (step.position <= position && position < step.position + step.psns) return &step;
    }
    return nullptr;
  }

  // Requests beyond this one were on their way when the NAK was sent: one of them arrived first.
  bool overtaken(std::int64_t position, const Step& step, std::uint32_t frame) const {
    for (std::size_t i = steps_before(frame); i-- > 0;) {
      if (&course_.steps[i] == &step) return false;
      if (course_.steps[i].position > position) return true;
    }
    return false;
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
    if (answer.opcode != emulated.opcode || a.kind != b.kind || class_of(a) != class_of(b)) {
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

  // ACK and RNR NAK have values that need not agree: credits, and the timer.
  static std::uint8_t class_of(const Shape& shape) {
    const bool only_kind = shape.syndrome.is_ack() || shape.syndrome.is_rnr_nak();
    return only_kind ? static_cast<std::uint8_t>(shape.syndrome.raw() & 0xe0)
                     : shape.syndrome.raw();
  }

  void add_payload_difference(const Packet& answer, const EmulatedAnswer& emulated,
                              std::vector<FieldDifference>& fields) const {
    if (answer.payload.size() != emulated.payload.size()) {
      fields.push_back({kAnswerRule, {}, {}});
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
    const Shape shape = emitted_shape(e);
    const std::int64_t position = positions_[e];
    if (damaged_.count(emitted_[e].answer.headers.bth.psn.value()) != 0) return;
    if (shape.kind == Kind::acknowledge) {
      if (!proved_after(cause_frame(e), position)) count(unanswered_, cause_frame(e));
      return;
    }
    if (!answered_after(e)) return count(unanswered_, cause_frame(e));
    if (shape.kind == Kind::sequence_nak) return explain_missing_nak(e);
    if (asked_again(e)) return count(lost_, cause_frame(e));
    const bool response = shape.kind == Kind::read || shape.kind == Kind::atomic;
    if (response && !went_on(e)) return count(unanswered_, cause_frame(e));
    if (shape.kind == Kind::read && !reads_reported_.insert(emitted_[e].step).second) return;
    differ(cause_frame(e), "nothing", describe(emitted_[e].answer), rule_of(shape.kind));
  }

  // The requester may go back as if the NAK had reached it although it was its timeout.
  void explain_missing_nak(std::size_t e) {
    if (was_missed(e)) return count(lost_, cause_frame(e));
    result_.doubtful.push_back(
        {cause_frame(e), "nothing", describe(emitted_[e].answer), std::string(kSequenceRule)});
  }

  // A captured answer after `frame` that proves this position.
  bool proved_after(std::uint32_t frame, std::int64_t position) const {
    for (std::size_t k = conversation_.answers.size(); k-- > 0;) {
      const Packet& answer = *conversation_.answers[k];
      if (answer.frame <= frame) return false;
      const std::int64_t proved = course_.answer_positions[k] + (is_positive(answer) ? 1 : 0);
      if (proved > position) return true;
    }
    return false;
  }

  // Whether the capture holds answers that would have come later than this one.
  bool answered_after(std::size_t e) const {
    const bool response =
        emitted_shape(e).kind == Kind::read || emitted_shape(e).kind == Kind::atomic;
    for (std::size_t k = conversation_.answers.size(); k-- > 0;) {
      if (conversation_.answers[k]->frame <= cause_frame(e)) return false;
      if (!response || course_.answer_positions[k] >= positions_[e]) return true;
    }
    return false;
  }

  // The requester asked for this READ or atomic response once more, or had it from another copy
  // of the request.
  bool asked_again(std::size_t e) const {
    const std::int64_t position = positions_[e];
    const Kind kind = emitted_shape(e).kind;
    if (kind != Kind::read && kind != Kind::atomic) return false;
    for (std::size_t i = emitted_[e].step + 1; i < course_.steps.size(); ++i) {
      const Step& step = course_.steps[i];
      if (step.position <= position && position < step.position + step.psns) return true;
    }
    if (step_of(e).fate != Fate::duplicate) return false;
    for (std::size_t k = 0; k < conversation_.answers.size(); ++k) {
      if (course_.answer_positions[k] == position && is_positive(*conversation_.answers[k])) {
        return true;
      }
    }
    return false;
  }

  // Whether the requester, once later answers showed it that this one was missing, went on as if
  // it were not; false where the capture ends before it could have asked again.
  bool went_on(std::size_t e) const {
    const auto& answers = conversation_.answers;
    std::size_t later = 0;
    while (later < answers.size() && (answers[later]->frame <= cause_frame(e) ||
                                      course_.answer_positions[later] <= positions_[e])) {
      ++later;
    }
    if (later == answers.size()) return false;
    const wire::Instant noticed = answers[later]->at;
    const std::size_t before = steps_before(answers[later]->frame);
    std::int64_t high = 0;
    for (std::size_t i = 0; i < before; ++i) {
      high = std::max(high, course_.steps[i].position + course_.steps[i].psns);
    }
    for (std::size_t i = before; i < course_.steps.size(); ++i) {
      if (course_.steps[i].position < high) return false;  // it went back
    }
    for (std::size_t i = before; i < course_.steps.size(); ++i) {
      if (course_.steps[i].request->at > noticed + usual_wait_) return true;
    }
    return std::max(answers.back()->at, conversation_.requests.back()->at) > noticed + patience_;
  }

  // A sequence NAK that reaches the requester makes it go back at once, and to the PSN that the
  // NAK names. One that is lost leaves it waiting for its timeout, and it then goes back to the
  // first PSN not acknowledged.
  bool was_missed(std::size_t e) const {
    // What the peer had NAKed before the capture began it does not NAK again.
    if (emitted_[e].step == course_.stretches.front().first_step) return true;
    for (std::size_t i = emitted_[e].step + 1; i < course_.steps.size(); ++i) {
      const Step& step = course_.steps[i];
      if (sent_before(*step.request, *step_of(e).request)) continue;  // was overtaken
      if (step.position < positions_[e]) return true;
      if (step.position != positions_[e]) continue;
      if (sent_back(positions_[e], cause_frame(e), step.request->frame)) return true;
      return step.request->at - step_of(e).request->at >= patience_;
    }
    return true;  // never sent again while the capture lasts
  }

  // Whether another NAK, captured between these frames, made the requester go back to this
  // position or farther.
  bool sent_back(std::int64_t position, std::uint32_t after, std::uint32_t before) const {
    for (std::size_t k = conversation_.answers.size(); k-- > 0;) {
      const Packet& answer = *conversation_.answers[k];
      if (answer.frame <= after) return false;
      if (answer.frame < before && !is_positive(answer) &&
          course_.answer_positions[k] <= position) {
        return true;
      }
    }
    return false;
  }

  static bool sent_before(const Packet& a, const Packet& b) {
    if (a.identification == 0 || b.identification == 0) return false;
    return static_cast<std::int16_t>(a.identification - b.identification) <= 0;
  }

  // How long after a NAK the requester must have gone back: several times what requests wait for
  // their answers in this conversation.
  void find_patience() {
    std::vector<wire::Duration> waits;
    for (const Step& step : course_.steps) {
      if (step.verdict != nullptr && step.verdict->at >= step.request->at) {
        waits.push_back(step.verdict->at - step.request->at);
      }
    }
    constexpr int kPatience = 4;
    patience_ = std::chrono::milliseconds(1);
    if (waits.empty()) return;
    const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
    std::nth_element(waits.begin(), middle, waits.end());
    usual_wait_ = *middle;
    patience_ = std::max<wire::Duration>(patience_, *middle * kPatience);
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
  std::vector<Emitted> emitted_;
  std::vector<bool> matched_;
  std::vector<std::int64_t> positions_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> by_position_;
  std::unordered_map<const Packet*, const std::vector<ByteRange>*> disputed_;
  std::unordered_set<std::uint32_t> damaged_;  // PSNs
  std::vector<std::uint32_t> request_frames_;
  std::vector<std::int64_t> progress_;
  std::unordered_set<std::string_view> seen_;
  std::unordered_set<std::size_t> reads_reported_;
  wire::Duration usual_wait_{};
  wire::Duration patience_{};
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

}  // namespace softrnic::replay
