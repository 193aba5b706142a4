// SPDX-License-Identifier: BSD-3-Clause
// Which connection of one dialogue is which of another, and which message is which, by what was
// asked and in what order: queue pairs, PSNs, keys, addresses and times differ.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/dialogue.hpp"

namespace softrnic::replay {

// Indices; kNone where one of the two has nothing that goes with it.
struct AlignedPair {
  std::uint32_t captured = kNone;
  std::uint32_t live = kNone;

  friend bool operator==(const AlignedPair&, const AlignedPair&) = default;
};

// Whether two messages ask for the same, as far as is known of them.
bool asks_the_same(const DialogueMessage& captured, const DialogueMessage& live);

// Messages that were seen only in part, from a capture's beginning on, go with nothing.
std::vector<AlignedPair> align_messages(const std::vector<DialogueMessage>& captured,
                                        const std::vector<DialogueMessage>& live);

// Whether side 0 of the one is side 1 of the other.
bool is_turned_round(const DialogueConnection& captured, const DialogueConnection& live);

// Of those in which something was asked; each goes with the first that begins alike.
std::vector<AlignedPair> align_connections(const Dialogue& captured, const Dialogue& live);

}  // namespace softrnic::replay
