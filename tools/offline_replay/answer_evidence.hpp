// SPDX-License-Identifier: BSD-3-Clause
// A conversation in numbers that do not wrap, and what its answers prove.
//
// A position is a PSN counted from the conversation's first captured request. An answer proves that
// the peer had executed all positions below a certain one when it was sent.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "offline_replay/conversation.hpp"

namespace softrnic::offline_replay {

wire::Syndrome syndrome_of(const Packet& answer);  // ACK for a response without AETH
// Acknowledges every PSN up to its own: an ACK, a READ or an atomic response.
bool is_positive(const Packet& answer);
bool is_sequence_nak(const Packet& answer);
// A NAK that ends the connection.
bool is_final_nak(const Packet& answer);

class AnswerEvidence {
 public:
  static constexpr std::uint32_t kNoFrame = std::numeric_limits<std::uint32_t>::max();

  explicit AnswerEvidence(const Conversation& conversation);

  const Conversation& conversation() const { return conversation_; }

  // --- requests, by index ---

  std::size_t requests() const { return positions_.size(); }
  const Packet& request(std::size_t i) const { return *conversation_.requests[i]; }
  std::int64_t request_position(std::size_t i) const { return positions_[i]; }
  // PSNs a request takes: a READ's responses.
  std::uint32_t psns(std::size_t i) const { return psns_[i]; }
  // All positions that requests up to and including this one ask for are below.
  std::int64_t requested_by(std::size_t i) const { return highs_[i]; }
  // Requests of one position, in order.
  const std::vector<std::size_t>& copies(std::int64_t position) const;
  // Frame of the next request of this position after request `i`; kNoFrame when there is none.
  std::uint32_t next_copy(std::int64_t position, std::size_t i) const;

  // --- answers, by index ---

  std::size_t answers() const { return answer_positions_.size(); }
  const Packet& answer(std::size_t k) const { return *conversation_.answers[k]; }
  std::int64_t answer_position(std::size_t k) const { return answer_positions_[k]; }
  const std::vector<std::int64_t>& answer_positions() const { return answer_positions_; }
  // Index of the first answer after a frame.
  std::size_t answers_after(std::uint32_t frame) const;
  const std::vector<std::size_t>& answers_at(std::int64_t position) const;

  // All positions below this were executed.
  std::int64_t proves(std::size_t k) const;
  // Whether it answers something asked for by then; else it proves nothing.
  bool sensible(std::size_t k) const;
  // The most that sensible answers from `k` on prove.
  std::int64_t proved_from(std::size_t k) const { return proved_from_[k]; }
  // A positive answer with an MSN.
  bool has_msn(std::size_t k) const;
  std::uint32_t msn(std::size_t k) const { return answer(k).headers.aeth.msn; }

 private:
  void place_requests();
  void place_answers();

  const Conversation& conversation_;
  std::vector<std::int64_t> positions_;
  std::vector<std::uint32_t> psns_;
  std::vector<std::int64_t> highs_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> copies_;
  std::vector<std::int64_t> answer_positions_;
  std::vector<std::int64_t> requested_;  // below this all was asked for when the answer came
  std::unordered_map<std::int64_t, std::vector<std::size_t>> answers_at_;
  std::vector<std::int64_t> proved_from_;  // one more than answers
};

}  // namespace softrnic::offline_replay
