// SPDX-License-Identifier: BSD-3-Clause
// Compares what a captured responder answered with what the emulated one answers to the same
// requests.
//
// NAKs, RNR NAKs, READ and atomic responses are compared one to one: opcode, PSN, syndrome class,
// MSN, payload. Acknowledgements may be coalesced, so they are compared by what they acknowledge
// and by the MSN at that PSN (IBTA vol. 1, 9.7.5.1.2). Answers that the capture lacks are no
// difference where the requester is seen to have missed them too, or where the capture ends.
#pragma once

#include <string>
#include <vector>

#include "offline_replay/emulated_responder.hpp"
#include "offline_replay/known_deviation.hpp"
#include "offline_replay/request_fate.hpp"

namespace softrnic::offline_replay {

// An answer of the emulated responder, and the step that it answers.
struct Emitted {
  std::size_t step = 0;
  EmulatedAnswer answer;
};

struct Difference {
  std::uint32_t frame = 0;  // of the captured answer, or of the request whose answer is not there
  std::string captured;
  std::string emulated;
  std::string rule;  // what the standard says
};

struct Note {
  std::uint32_t frame = 0;  // the first one concerned
  std::string text;
};

struct DeviationSeen {
  const KnownDeviation* deviation = nullptr;
  std::uint32_t frame = 0;  // the first one
  std::uint32_t count = 0;
};

struct Comparison {
  std::uint32_t one_to_one = 0;  // captured answers met by the same emulated one
  std::uint32_t cumulative = 0;  // captured ACKs covered by what the emulated ones acknowledge
  std::vector<Difference> differences;  // in the order of frames
  // NAKs that the capture lacks and that the requester went back for, as if it had them: a
  // difference, unless frames of this responder are seen to be lost before the capture.
  std::vector<Difference> doubtful;
  std::uint32_t lost = 0;  // answers that the requester missed, too
  // Captured answers left out: to requests that the capture does not hold.
  std::uint32_t uncaptured = 0;
  std::vector<Note> notes;
  std::vector<DeviationSeen> deviations;
};

// `disputed`: parts of each captured answer's payload that are not to be compared. `damaged`:
// answers of this conversation whose frames did not come out right.
Comparison compare_answers(const Conversation& conversation, const RequestCourse& course,
                           std::vector<Emitted> emitted,
                           const std::vector<std::vector<ByteRange>>& disputed,
                           const std::vector<const Packet*>& damaged);

// Settles the doubtful ones.
void settle_doubtful(Comparison& comparison, bool frames_are_lost);

}  // namespace softrnic::offline_replay
