// SPDX-License-Identifier: BSD-3-Clause
// What differs between two messages that ask for the same: what is asked, what is answered, when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "replay/difference.hpp"

namespace softrnic::replay {

// Keys and addresses of two dialogues: whatever they are, one of the captured dialogue always has
// the same counterpart.
class MemoryMapping {
 public:
  // What is wrong with this pair, or nothing.
  enum class Mismatch : std::uint8_t { none, key, address };
  Mismatch add(const analysis::Message& captured, const analysis::Message& live);

 private:
  struct Counterpart {
    std::uint32_t key = 0;
    std::uint64_t distance = 0;  // from the captured address to the live one
  };
  std::map<std::uint32_t, Counterpart> counterparts_;  // by the captured key
};

// Two connections side by side. Side 0 and 1 are the captured ones; the live sides may be turned.
struct ConnectionPair {
  const Dialogue& captured_dialogue;
  const DialogueConnection& captured;
  const Dialogue& live_dialogue;
  const DialogueConnection& live;
  bool turned = false;

  std::uint8_t live_side(std::uint8_t captured_side) const {
    return turned ? static_cast<std::uint8_t>(1 - captured_side) : captured_side;
  }
  const std::vector<DialogueMessage>& captured_messages(std::uint8_t side) const {
    return captured.messages[side];
  }
  const std::vector<DialogueMessage>& live_messages(std::uint8_t side) const {
    return live.messages[live_side(side)];
  }
  wire::Duration live_time(wire::Instant at) const { return at - live.stream.first_time; }
};

// "WRITE of message 3", or with the requester where both sides ask: "... of 10.0.0.1".
std::string name_of(const ConnectionPair& pair, std::uint8_t requester, std::uint32_t message);
// "the live requester", and "the live responder" that answers it; where both sides ask, their
// addresses: "the live end 10.0.0.1".
std::string live_asker(const ConnectionPair& pair, std::uint8_t requester);
std::string live_answerer(const ConnectionPair& pair, std::uint8_t requester);
// "SEND", "READ", ...
std::string_view name_of(wire::Operation operation);

// Whether the live message was answered, refused or, unasked for an answer, sent whole.
bool is_settled(const DialogueMessage& message);

class MessageComparison {
 public:
  MessageComparison(const ConnectionPair& pair, std::uint8_t requester,
                    const DifferenceOptions& options, MemoryMapping& memory)
      : pair_(pair), requester_(requester), options_(options), memory_(memory) {}

  // Appends what differs. The two are aligned.
  void compare(const AlignedPair& aligned, std::vector<DialogueDifference>& out);

 private:
  using Message = DialogueMessage;

  void compare_requests(const Message& captured, const Message& live);
  void compare_payload(const Message& captured, const Message& live, bool answers);
  void compare_responses(const Message& captured, const Message& live);
  void compare_atomic(const Message& captured, const Message& live);
  void compare_time(const Message& captured, const Message& live);

  DialogueDifference& add(std::string_view kind, const DialoguePacket* captured,
                          const DialoguePacket* live, std::string sentence,
                          std::string_view rule = {});
  const DialoguePacket* first_captured(const Message& message) const;
  const DialoguePacket* first_live(const Message& message) const;
  std::string subject() const;

  const ConnectionPair& pair_;
  std::uint8_t requester_;
  const DifferenceOptions& options_;
  MemoryMapping& memory_;
  std::vector<DialogueDifference>* out_ = nullptr;
  std::uint32_t message_ = 0;
};

}  // namespace softrnic::replay
