// SPDX-License-Identifier: BSD-3-Clause
// The worst moments of a capture: where the most time was lost, or a connection came to its end.
//
// A moment is one event with its figures; its sentences are made when they are asked for: what
// happened, what the standard says, and what to look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/finding.hpp"
#include "explain/loss_recovery.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"

namespace softrnic::explain {

enum class MomentKind : std::uint8_t {
  loss,          // of packets, and the time until they were sent again
  not_ready,     // RNR NAKs
  gave_up,       // a loss, or RNR NAKs, that used up the retries
  refused,       // a NAK that ended the connection
  rejected,      // CM: no connection
  broken_rule,   // a finding that is an error and none of the above
  header_fault,  // headers that a receiver drops the frame for
  slow_answer,   // an operation that took many times what the others do, without a loss
  slowed_down,   // the rate fell after a CNP
};

std::string_view to_string(MomentKind kind);

struct Moment {
  MomentKind kind = MomentKind::loss;
  analysis::Severity severity = analysis::Severity::warning;
  std::uint32_t connection = analysis::kNone;
  std::uint32_t frame = 0;  // where to look first
  std::uint32_t related = 0;
  wire::Instant at;           // when it began
  wire::Duration lost{};      // time
  std::uint64_t times = 1;    // more of the same kind in this connection
  Loss loss;                  // loss, gave_up
  ReceiverNotReady wait;      // not_ready, gave_up when loss is empty
  analysis::Finding finding;  // refused, rejected, broken_rule, slowed_down
  analysis::Finding reason;   // refused: why, where the analysis knows; else of kind count
  std::string text;           // header_fault: the sentence
  wire::Operation operation = wire::Operation::unknown;  // slow_answer
  wire::Duration usual{};                                // slow_answer: the median

  // Ended a connection: worse than any time.
  bool fatal() const {
    return kind == MomentKind::gave_up || kind == MomentKind::refused ||
           kind == MomentKind::rejected;
  }
};

// What happened, with frame numbers; what the standard says; what to look at. Whole sentences.
std::string what_happened(const Moment& moment);
std::string what_the_standard_says(const Moment& moment);
std::string what_to_look_at(const Moment& moment);

// By how bad they are: ends of connections, then time lost, a broken rule counting as a tenth of a
// second; of equals the earlier one.
bool is_worse(const Moment& a, const Moment& b);
std::uint64_t gravity(const Moment& moment);

class WorstMoments {
 public:
  static constexpr std::size_t kMost = 5;

  // Whether it is among the worst so far.
  bool offer(const Moment& moment);
  // One more of what was offered: a finding of this kind in this connection.
  void count_again(std::uint32_t connection, analysis::FindingKind kind);

  const std::vector<Moment>& moments() const { return moments_; }  // the worst first

 private:
  std::vector<Moment> moments_;
};

}  // namespace softrnic::explain
