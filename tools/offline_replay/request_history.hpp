// SPDX-License-Identifier: BSD-3-Clause
// A conversation's requests in time: which came before an answer, what the requester did after it,
// and how long it waits.
#pragma once

#include <vector>

#include "offline_replay/request_fate.hpp"

namespace softrnic::offline_replay {

class RequestHistory {
 public:
  // Both must outlive the history.
  RequestHistory(const Conversation& conversation, const RequestCourse& course);

  const Conversation& conversation() const { return conversation_; }
  const RequestCourse& course() const { return course_; }
  const std::vector<Step>& steps() const { return course_.steps; }

  // Steps captured before this frame.
  std::size_t steps_before(std::uint32_t frame) const;
  // The stretch that was under way; null before the first request.
  const Stretch* stretch_at(std::uint32_t frame) const;
  // The last request before `frame` that asks for this position, or null.
  const Step* last_request(std::int64_t position, std::uint32_t frame) const;
  // Whether a request asks for this position after step `i`.
  bool asks_after(std::size_t i, std::int64_t position) const;
  // Whether a request was captured once more.
  bool comes_again(const Step& step) const;
  // Whether a request beyond this one was on its way by then.
  bool overtaken(const Step& step, std::uint32_t frame) const;
  // Whether the requester goes back to this position, or farther, after a NAK; true also where the
  // capture ends before it could, and nothing more is acknowledged before that.
  bool goes_back(std::int64_t position, const Packet& nak) const;

  // What requests usually wait for their answers in this conversation.
  wire::Duration usual_wait() const { return usual_wait_; }
  // How long after an answer the requester must have heeded it.
  wire::Duration patience() const { return patience_; }
  // Time of the last packet.
  wire::Instant end() const { return end_; }

 private:
  void measure_waits();

  const Conversation& conversation_;
  const RequestCourse& course_;
  wire::Duration usual_wait_{};
  wire::Duration patience_{};
  wire::Instant end_{};
};

}  // namespace softrnic::offline_replay
