// SPDX-License-Identifier: BSD-3-Clause
// The difference between two dialogues: a captured one, and a live one in which the same was asked.
//
// Connections and messages are laid beside each other by what was asked, so that queue pairs, PSNs,
// keys, addresses, MAC and IP addresses, ports and times may all be others. What differs is told in
// the order in which the live dialogue shows it, so that the first difference is what went
// otherwise first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/connection_choice.hpp"
#include "replay/dialogue.hpp"
#include "replay/message_alignment.hpp"

namespace softrnic::replay {

struct DialogueDifference {
  std::string_view kind;  // "refusal", "no_answer", ...
  std::string sentence;   // without a full stop
  std::string_view rule;  // what the standard says; empty where it says nothing
  // What the captured one lost or had to wait for, and the live one did not: no difference.
  bool note = false;

  std::uint32_t live_frame = 0;      // the first that shows it; 0: none does
  std::uint32_t captured_frame = 0;  // its counterpart; 0: there is none
  std::uint32_t message = 0;         // in the order of its requester's messages, from 1; 0: none
  std::uint8_t requester = 0;        // whose message; side of the captured connection
  wire::Duration at{};               // since the live connection's first packet

  std::uint32_t order = 0;  // place in the live dialogue: frame, or the one it comes behind
};

// One connection of each.
struct ConnectionDifference {
  std::optional<std::uint32_t> captured;  // stream; none: only the live one has it
  std::optional<std::uint32_t> live;
  std::string captured_ends;  // "10.0.0.1 QP 0x000011 -> 10.0.0.2 QP 0x000012"
  std::string live_ends;
  std::string service;
  std::size_t messages = 0;  // that were compared
  bool turned = false;       // side 0 of the captured one is side 1 of the live one
  std::vector<DialogueDifference> differences;  // in the order of the live dialogue
  std::vector<DialogueDifference> notes;
};

struct DifferenceReport {
  std::uint64_t captured_frames = 0;
  std::uint64_t live_frames = 0;
  std::vector<ConnectionDifference> connections;

  std::size_t differences() const;
  bool empty() const { return differences() == 0; }
};

struct DifferenceOptions {
  // An answer is late that comes so much later after its request than the captured one did, and
  // four times as late as that. 0: lateness is no difference.
  wire::Duration late = std::chrono::milliseconds(50);
  // Only what this side of the chosen captured connection asked (0: [0] of the choice).
  std::optional<std::uint8_t> only_asked_by;
};

// A capture, and which of its connections; none chosen: all.
struct CapturedConnection {
  std::string path;
  ConnectionChoice choice;
};

ConnectionDifference compare_connections(const Dialogue& captured, std::uint32_t captured_stream,
                                         const Dialogue& live, std::uint32_t live_stream,
                                         const DifferenceOptions& options = {});

DifferenceReport compare_dialogues(const Dialogue& captured, const Dialogue& live,
                                   const DifferenceOptions& options = {});

// The error is one sentence: which capture could not be read and why.
wire::Expected<DifferenceReport, std::string> compare_captures(
    const CapturedConnection& captured, const CapturedConnection& live,
    const DifferenceOptions& options = {}, const OnRecord& on_record = {});

}  // namespace softrnic::replay
