// SPDX-License-Identifier: BSD-3-Clause
#include "transport/answer_queue.hpp"

namespace softrnic::transport {
namespace {

// Size of the ring, for each READ or atomic that may be outstanding: its first answer, a replay,
// and acknowledgements between them.
constexpr std::uint32_t kAnswersPerRequest = 6;
constexpr std::uint32_t answers_for(std::uint32_t depth) {
  return depth * kAnswersPerRequest + 8;
}

}  // namespace

void AnswerQueue::start(std::uint32_t depth) {
  depth_ = depth;
  ring_.start(answers_for(depth));
}

void AnswerQueue::adapt(std::uint32_t depth) {
  depth_ = depth;
  ring_.rebound(answers_for(depth));
}

void AnswerQueue::push(const Answer& answer) {
  const bool fatal = answer.syndrome.is_nak() &&
                     answer.syndrome != wire::Syndrome::nak(wire::NakCode::psn_sequence_error);
  // What can be asked for without end, acknowledgements, NAKs for gaps and replays, leaves room for
  // every first answer and for the NAK that ends the connection.
  const bool has_place = fatal || (answer.is_counted() && !answer.replay);
  const std::uint32_t kept_free = has_place ? 0 : depth_ + 1;
  if (ring_.size() + kept_free >= ring_.bound()) {
    if (!fatal) return;
    ring_.clear();
  }
  ring_.push(answer);  // without memory for it, the peer will repeat itself as well
}

Answer* AnswerQueue::find_unsent(wire::Psn psn) {
  for (std::uint32_t i = 0; i < ring_.size(); ++i) {
    Answer& answer = ring_[i];
    if (!answer.is_response()) continue;
    const std::int32_t offset = psn.since(answer.psn);
    if (offset >= 0 && offset < static_cast<std::int32_t>(answer.packets)) return &answer;
  }
  return nullptr;
}

std::uint32_t AnswerQueue::first_answers() const {
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < ring_.size(); ++i) n += ring_[i].is_counted() && !ring_[i].replay;
  return n;
}

bool AnswerQueue::takes_replay() const {
  std::uint32_t replays = 0;
  for (std::uint32_t i = 0; i < ring_.size(); ++i) {
    replays += ring_[i].is_response() && ring_[i].replay;
  }
  return replays < depth_;
}

}  // namespace softrnic::transport
