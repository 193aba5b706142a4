// SPDX-License-Identifier: BSD-3-Clause
// What became of each captured request at the captured peer, as its answers tell.
//
// A capture does not say which requests arrived, which receives were posted or what the peer
// expected when the capture began. The answers do: a positive one proves all PSNs up to its own,
// a NAK names the PSN that was expected. This file follows the peer's expected PSN through the
// conversation and gives every request its fate; priming and feeding rest on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "offline_replay/answer_evidence.hpp"

namespace softrnic::offline_replay {

enum class Fate : std::uint8_t {
  executed,         // in sequence and accepted
  duplicate,        // executed before
  out_of_sequence,  // beyond the expected PSN
  refused,          // answered with a NAK that ends the connection
  not_ready,        // answered with an RNR NAK
  not_received,     // a NAK shows that it never arrived
  ignored,          // the connection had ended
};

struct Step {
  const Packet* request = nullptr;
  Fate fate = Fate::executed;
  // The answer that decided it: the NAK, or the first that proves execution. Null when none does.
  const Packet* verdict = nullptr;
  std::int64_t position = 0;   // the PSN without wrap, counted from the conversation's first
  std::uint32_t psns = 1;      // PSNs taken: a READ's responses
  std::size_t stretch = 0;     // index in RequestCourse::stretches
  bool takes_receive = false;  // a receive is consumed when it executes
  // The receive posted for this message is shorter than the message: just these bytes (the peer
  // refused what came after them).
  std::optional<std::uint64_t> receive_limit;
};

// A run of requests without a hole in the capture: the responder is primed once, at its start.
struct Stretch {
  std::size_t first_step = 0;
  std::int64_t expected = 0;  // position of the PSN the peer expects at the start
  wire::Psn expected_psn;
  std::uint64_t missing = 0;  // PSNs the peer executed before this stretch that were not captured
  // The first request to execute is in the middle of a message; what its beginning was, and how
  // many bytes the rest of the message has.
  bool in_message = false;
  wire::Operation message_operation{};
  std::uint64_t message_rest = 0;
  // Messages complete after a position, counted within the stretch.
  std::vector<std::pair<std::int64_t, std::uint32_t>> completed;
  // MSN of the peer at the start of the stretch; none when no answer tells it.
  std::optional<std::uint32_t> msn;

  std::uint32_t completed_at(std::int64_t position) const;
};

struct RequestCourse {
  std::vector<Step> steps;                     // one per request
  std::vector<Stretch> stretches;              // at least one when there are steps
  std::vector<std::int64_t> answer_positions;  // of each answer's PSN
  std::uint32_t not_received = 0;
};

// When a request that was sent again before it is proved to be executed arrived.
enum class Arrival : std::uint8_t {
  early,     // the first time
  heed_msn,  // the first time, unless the MSN of other answers denies it
  late,      // the last time before the proof
};

// One of the ways in which a capture may be read.
struct Reading {
  Arrival arrival = Arrival::early;
  // Position that the peer expected when the capture began, when not the likeliest.
  std::optional<std::int64_t> start;
};

// `evidence`: of the conversation's answers.
RequestCourse follow_requests(const AnswerEvidence& evidence, const Reading& reading = {});

}  // namespace softrnic::offline_replay
