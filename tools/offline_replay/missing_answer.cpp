// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/missing_answer.hpp"

#include <algorithm>

namespace softrnic::offline_replay {
namespace {

class AbsenceInquiry {
 public:
  AbsenceInquiry(const RequestHistory& history, const MissingAnswer& missing)
      : history_(history), answers_(history.conversation().answers), missing_(missing) {}

  Absence conclude() const {
    const bool response = missing_.kind == AnswerKind::read || missing_.kind == AnswerKind::atomic;
    if (missing_.kind == AnswerKind::acknowledge) {
      return proved_later() ? Absence::covered : Absence::unanswered;
    }
    if (!answered_later(response)) return Absence::unanswered;
    if (missing_.kind == AnswerKind::sequence_nak) {
      return was_missed() ? Absence::lost : Absence::doubtful;
    }
    if (response && asked_again()) return Absence::lost;
    return response && !went_on() ? Absence::unanswered : Absence::withheld;
  }

 private:
  const Step& cause() const { return history_.steps()[missing_.step]; }
  std::uint32_t cause_frame() const { return cause().request->frame; }
  std::int64_t answer_position(std::size_t k) const {
    return history_.course().answer_positions[k];
  }

  bool proved_later() const {
    for (std::size_t k = answers_.size(); k-- > 0 && answers_[k]->frame > cause_frame();) {
      const std::int64_t proved = answer_position(k) + (is_positive(*answers_[k]) ? 1 : 0);
      if (proved > missing_.position) return true;
    }
    return false;
  }

  // Whether the capture holds answers that would have come later than this one.
  bool answered_later(bool response) const {
    for (std::size_t k = answers_.size(); k-- > 0 && answers_[k]->frame > cause_frame();) {
      if (!response || answer_position(k) >= missing_.position) return true;
    }
    return false;
  }

  // The requester asked for this READ or atomic response once more, or had it from another copy
  // of the request.
  bool asked_again() const {
    if (history_.asks_after(missing_.step, missing_.position)) return true;
    if (cause().fate != Fate::duplicate) return false;
    for (std::size_t k = 0; k < answers_.size(); ++k) {
      if (answer_position(k) == missing_.position && is_positive(*answers_[k])) return true;
    }
    return false;
  }

  // Whether the requester, once later answers showed it that this one was missing, went on as if
  // it were not; false where the capture ends before it could have asked again.
  bool went_on() const {
    std::size_t later = 0;
    while (later < answers_.size() && (answers_[later]->frame <= cause_frame() ||
                                       answer_position(later) <= missing_.position)) {
      ++later;
    }
    if (later == answers_.size()) return false;
    const std::vector<Step>& steps = history_.steps();
    const std::size_t before = history_.steps_before(answers_[later]->frame);
    std::int64_t high = 0;
    for (std::size_t i = 0; i < before; ++i) {
      high = std::max(high, steps[i].position + steps[i].psns);
    }
    const bool went_back =
        std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(before), steps.end(),
                    [high](const Step& step) { return step.position < high; });
    if (went_back) return false;
    const bool asks_more = before < steps.size();
    return history_.end() >
           answers_[later]->at + (asks_more ? history_.usual_wait() : history_.patience());
  }

  // A sequence NAK that reaches the requester makes it go back at once, and to the PSN that the
  // NAK names. One that is lost leaves it waiting for its timeout, and it then goes back to the
  // first PSN not acknowledged.
  bool was_missed() const {
    // What the peer had NAKed before the capture began it does not NAK again.
    if (missing_.step == history_.course().stretches.front().first_step) return true;
    for (std::size_t i = missing_.step + 1; i < history_.steps().size(); ++i) {
      const Step& step = history_.steps()[i];
      if (sent_before(*step.request, *cause().request)) continue;  // was overtaken
      if (step.position < missing_.position) return true;
      if (step.position != missing_.position) continue;
      if (sent_back_before(step.request->frame)) return true;
      return step.request->at - cause().request->at >= history_.patience();
    }
    return true;  // never sent again while the capture lasts
  }

  // Whether another NAK, captured meanwhile, made the requester go back to this position or
  // farther.
  bool sent_back_before(std::uint32_t frame) const {
    for (std::size_t k = answers_.size(); k-- > 0 && answers_[k]->frame > cause_frame();) {
      const bool negative = answers_[k]->frame < frame && !is_positive(*answers_[k]);
      if (negative && answer_position(k) <= missing_.position) return true;
    }
    return false;
  }

  static bool sent_before(const Packet& a, const Packet& b) {
    if (a.identification == 0 || b.identification == 0) return false;
    return static_cast<std::int16_t>(a.identification - b.identification) <= 0;
  }

  const RequestHistory& history_;
  const std::vector<const Packet*>& answers_;
  const MissingAnswer& missing_;
};

}  // namespace

Absence explain_absence(const RequestHistory& history, const MissingAnswer& missing) {
  return AbsenceInquiry(history, missing).conclude();
}

}  // namespace softrnic::offline_replay
