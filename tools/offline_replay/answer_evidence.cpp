// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/answer_evidence.hpp"

#include <algorithm>

namespace softrnic::offline_replay {
namespace {

using wire::NakCode;
using wire::Operation;

constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();

std::uint32_t psns_of(const Packet& request, std::uint32_t path_mtu) {
  if (request.opcode->operation != Operation::read_request) return 1;
  const std::uint64_t length = request.headers.reth.dma_length;
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((length + path_mtu - 1) / path_mtu));
}

const std::vector<std::size_t>& find_in(
    const std::unordered_map<std::int64_t, std::vector<std::size_t>>& map, std::int64_t position) {
  static const std::vector<std::size_t> kNone;
  const auto found = map.find(position);
  return found == map.end() ? kNone : found->second;
}

}  // namespace

wire::Syndrome syndrome_of(const Packet& answer) {
  return answer.opcode->has(wire::kAeth) ? answer.headers.aeth.syndrome : wire::Syndrome::ack();
}

bool is_positive(const Packet& answer) {
  return answer.opcode->operation != Operation::acknowledge || syndrome_of(answer).is_ack();
}

bool is_sequence_nak(const Packet& answer) {
  return syndrome_of(answer) == wire::Syndrome::nak(NakCode::psn_sequence_error);
}

bool is_final_nak(const Packet& answer) {
  return syndrome_of(answer).is_nak() && !is_sequence_nak(answer);
}

AnswerEvidence::AnswerEvidence(const Conversation& conversation) : conversation_(conversation) {
  place_requests();
  if (!positions_.empty()) place_answers();
}

void AnswerEvidence::place_requests() {
  if (conversation_.requests.empty()) return;
  wire::Psn anchor = conversation_.requests.front()->psn();
  std::int64_t anchor_position = 0;
  std::int64_t high = 0;
  for (const Packet* request : conversation_.requests) {
    const std::int64_t position = anchor_position + request->psn().since(anchor);
    if (position >= anchor_position) {
      anchor = request->psn();
      anchor_position = position;
    }
    copies_[position].push_back(positions_.size());
    positions_.push_back(position);
    psns_.push_back(psns_of(*request, conversation_.path_mtu));
    high = std::max(high, position + psns_.back());
    highs_.push_back(high);
  }
}

// An answer's position is near what had been requested when it came.
void AnswerEvidence::place_answers() {
  std::size_t next = 0;
  for (const Packet* answer : conversation_.answers) {
    while (next < requests() && request(next).frame < answer->frame) ++next;
    const std::size_t last = next == 0 ? 0 : next - 1;
    const std::int64_t position = positions_[last] + answer->psn().since(request(last).psn());
    answers_at_[position].push_back(answer_positions_.size());
    answer_positions_.push_back(position);
    requested_.push_back(next == 0 ? kNothing : highs_[last]);
  }
  proved_from_.assign(answers() + 1, kNothing);
  for (std::size_t k = answers(); k-- > 0;) {
    proved_from_[k] = proved_from_[k + 1];
    if (sensible(k)) proved_from_[k] = std::max(proved_from_[k], proves(k));
  }
}

const std::vector<std::size_t>& AnswerEvidence::copies(std::int64_t position) const {
  return find_in(copies_, position);
}

std::uint32_t AnswerEvidence::next_copy(std::int64_t position, std::size_t i) const {
  const std::vector<std::size_t>& list = copies(position);
  const auto next = std::upper_bound(list.begin(), list.end(), i);
  return next == list.end() ? kNoFrame : request(*next).frame;
}

std::size_t AnswerEvidence::answers_after(std::uint32_t frame) const {
  const auto& list = conversation_.answers;
  return static_cast<std::size_t>(
      std::upper_bound(list.begin(), list.end(), frame,
                       [](std::uint32_t f, const Packet* a) { return f < a->frame; }) -
      list.begin());
}

const std::vector<std::size_t>& AnswerEvidence::answers_at(std::int64_t position) const {
  return find_in(answers_at_, position);
}

std::int64_t AnswerEvidence::proves(std::size_t k) const {
  return answer_positions_[k] + (is_positive(answer(k)) ? 1 : 0);
}

bool AnswerEvidence::sensible(std::size_t k) const {
  return proves(k) <= requested_[k];
}

bool AnswerEvidence::has_msn(std::size_t k) const {
  return is_positive(answer(k)) && answer(k).opcode->has(wire::kAeth);
}

}  // namespace softrnic::offline_replay
