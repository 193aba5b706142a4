// SPDX-License-Identifier: BSD-3-Clause
// Why a capture may lack an answer that the standard asks for.
#pragma once

#include "offline_replay/answer_shape.hpp"
#include "offline_replay/request_history.hpp"

namespace softrnic::offline_replay {

// An answer of the emulated responder without a captured one to match.
struct MissingAnswer {
  std::size_t step = 0;  // that it answers
  std::int64_t position = 0;
  AnswerKind kind{};
};

enum class Absence : std::uint8_t {
  covered,     // a captured answer acknowledges as much
  unanswered,  // the capture ends, or the peer fell silent
  lost,        // the requester missed it, too: it asked again, or went back after its timeout
  doubtful,    // a sequence NAK that the requester seems to have obeyed
  withheld,    // the captured peer did not send it
};

Absence explain_absence(const RequestHistory& history, const MissingAnswer& missing);

}  // namespace softrnic::offline_replay
