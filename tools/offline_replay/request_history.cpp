// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/request_history.hpp"

#include <algorithm>

namespace softrnic::offline_replay {
namespace {

// The least patience, and how many usual waits it is.
constexpr wire::Duration kLeastPatience = std::chrono::milliseconds(1);
constexpr int kPatience = 4;

bool asks_for(const Step& step, std::int64_t position) {
  return step.position <= position && position < step.position + step.psns;
}

}  // namespace

RequestHistory::RequestHistory(const Conversation& conversation, const RequestCourse& course)
    : conversation_(conversation), course_(course) {
  if (!conversation.requests.empty()) end_ = conversation.requests.back()->at;
  if (!conversation.answers.empty()) end_ = std::max(end_, conversation.answers.back()->at);
  measure_waits();
}

void RequestHistory::measure_waits() {
  std::vector<wire::Duration> waits;
  for (const Step& step : steps()) {
    if (step.verdict != nullptr && step.verdict->at >= step.request->at) {
      waits.push_back(step.verdict->at - step.request->at);
    }
  }
  patience_ = kLeastPatience;
  if (waits.empty()) return;
  const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
  std::nth_element(waits.begin(), middle, waits.end());
  usual_wait_ = *middle;
  patience_ = std::max<wire::Duration>(kLeastPatience, usual_wait_ * kPatience);
}

std::size_t RequestHistory::steps_before(std::uint32_t frame) const {
  return static_cast<std::size_t>(
      std::lower_bound(steps().begin(), steps().end(), frame,
                       [](const Step& step, std::uint32_t f) { return step.request->frame < f; }) -
      steps().begin());
}

const Stretch* RequestHistory::stretch_at(std::uint32_t frame) const {
  const std::size_t before = steps_before(frame);
  return before == 0 ? nullptr : &course_.stretches[steps()[before - 1].stretch];
}

const Step* RequestHistory::last_request(std::int64_t position, std::uint32_t frame) const {
  for (std::size_t i = steps_before(frame); i-- > 0;) {
    if (asks_for(steps()[i], position)) return &steps()[i];
  }
  return nullptr;
}

bool RequestHistory::asks_after(std::size_t i, std::int64_t position) const {
  return std::any_of(steps().begin() + static_cast<std::ptrdiff_t>(i) + 1, steps().end(),
                     [position](const Step& step) { return asks_for(step, position); });
}

bool RequestHistory::comes_again(const Step& step) const {
  return std::any_of(steps().begin(), steps().end(), [&step](const Step& other) {
    return other.position == step.position && other.request->frame > step.request->frame;
  });
}

bool RequestHistory::overtaken(const Step& step, std::uint32_t frame) const {
  for (std::size_t i = steps_before(frame); i-- > 0 && &steps()[i] != &step;) {
    if (steps()[i].position > step.position) return true;
  }
  return false;
}

bool RequestHistory::goes_back(std::int64_t position, const Packet& nak) const {
  const auto after = steps().begin() + static_cast<std::ptrdiff_t>(steps_before(nak.frame));
  if (std::any_of(after, steps().end(),
                  [position](const Step& step) { return step.position <= position; })) {
    return true;
  }
  // The request that made the peer send the NAK was dropped, and cannot be acknowledged.
  for (std::size_t k = conversation_.answers.size(); k-- > 0;) {
    const Packet& answer = *conversation_.answers[k];
    if (answer.frame <= nak.frame) break;
    if (is_positive(answer) && course_.answer_positions[k] > position) return false;
  }
  return end_ <= nak.at + patience_;
}

}  // namespace softrnic::offline_replay
