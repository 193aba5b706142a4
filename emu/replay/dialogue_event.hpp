// SPDX-License-Identifier: BSD-3-Clause
// Dialogue events: what in one connection did not go as by the book, each tied to the message that
// it concerns, so that the same can be looked for in another dialogue.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/dialogue.hpp"

namespace softrnic::replay {

enum class EventKind : std::uint8_t {
  // What a responder does.
  refusal,          // a NAK that ends the connection; detail: the syndrome
  rnr_nak,          // not ready
  sequence_nak,     // a packet is missing
  stray_answer,     // an answer to nothing that was asked
  repeated_answer,  // an answer given before, and nothing asked again
  response_gap,     // a READ response, or an atomic's, is missing
  response_size,    // a READ response of another size than asked for
  changed_atomic,   // an atomic asked again returned another value
  // What a requester does.
  timeout,           // sent again with nothing that asked for it
  repeated_request,  // the same packet twice
  reused_psn,        // another packet of a PSN used before
  request_gap,       // PSNs are left out
  reordered_request,
  request_shape,  // order of opcodes, sizes, pad
  early_retry,    // before the RNR timer had ended
  request_after_error,
  // What either does, or the network.
  bad_icrc,
  malformed,  // headers that are wrong
  ecn_mark,
  cnp,
  count,
};

std::string_view name(EventKind kind);
// What the standard says, with its place; empty where it has no rule.
std::string_view rule(EventKind kind);
// What only one of the two dialogues has by the chances of a network: a difference when the live
// one has it, and a note when the captured one does.
bool is_chance(EventKind kind);

struct DialogueEvent {
  EventKind kind{};
  std::uint8_t requester = 0;     // whose message it concerns
  std::uint8_t actor = 0;         // the side that did it
  std::uint32_t message = kNone;  // index in the requester's messages; the newest by then
  std::uint32_t packet = kNone;   // index; none for what is malformed
  std::uint32_t frame = 0;
  wire::Instant at;
  std::uint64_t detail = 0;  // tells events of one kind apart, see the kind
  std::string sentence;      // of the analysis, where it says more
};

// In the order of frames.
std::vector<DialogueEvent> find_events(const Dialogue& dialogue,
                                       const DialogueConnection& connection);

}  // namespace softrnic::replay
