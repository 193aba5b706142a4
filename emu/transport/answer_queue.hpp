// SPDX-License-Identifier: BSD-3-Clause
// The answers of a reliable responder that wait to be sent, in the order of their requests, and how
// many may wait: a peer can ask for more than it agreed to.
#pragma once

#include <cstdint>

#include "transport/growing_ring.hpp"
#include "transport/memory_gate.hpp"
#include "wire/aeth.hpp"
#include "wire/psn.hpp"

namespace softrnic::transport {

struct Answer {
  enum class Kind : std::uint8_t { acknowledge, selective, read, atomic, atomic_write, flush };
  Kind kind{};
  bool replay = false;  // to a duplicate
  wire::Syndrome syndrome;
  wire::Psn psn;  // first PSN of the answer
  std::uint32_t msn = 0;
  ProtectionDomain domain{};  // READ: on whose behalf
  // READ: what is read, in how many packets, and which is next.
  std::uint64_t address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t length = 0;
  std::uint32_t packets = 0;
  std::uint32_t next_packet = 0;
  std::uint64_t original = 0;  // atomic

  // To a request that has an answer of its own.
  bool is_response() const { return kind != Kind::acknowledge && kind != Kind::selective; }
  // Of those, to one of which a peer may have no more outstanding than was agreed. A FLUSH is
  // answered as a duplicate if need be, and peers may send any number of them.
  bool is_counted() const { return is_response() && kind != Kind::flush; }
};

class AnswerQueue {
 public:
  // Empties it. `depth`: READs and atomics that a peer may have outstanding.
  void start(std::uint32_t depth);
  // Another depth from now on; what waits stays.
  void adapt(std::uint32_t depth);
  void clear() { ring_.clear(); }

  bool empty() const { return ring_.empty(); }
  Answer& front() { return ring_[0]; }
  void pop() { ring_.pop(); }
  // The newest; nullptr when there is none.
  Answer* last() { return empty() ? nullptr : &ring_[ring_.size() - 1]; }

  // Without room for it the answer is not sent, and the peer will repeat itself; but a NAK that
  // ends the connection takes the place of all before it.
  void push(const Answer& answer);

  // The response to a READ or atomic, not yet sent in full, whose PSNs hold `psn`; or nullptr.
  Answer* find_unsent(wire::Psn psn);
  // Requests that count towards the agreed depth and are not yet answered in full.
  std::uint32_t first_answers() const;
  // A peer that repeats itself gets as many replays at a time as it may have requests outstanding.
  bool takes_replay() const;

 private:
  GrowingRing<Answer> ring_;
  std::uint32_t depth_ = 0;
};

}  // namespace softrnic::transport
