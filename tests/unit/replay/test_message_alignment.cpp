// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "replay/message_alignment.hpp"

namespace softrnic::replay {
namespace {

// One WRITE of each length.
std::vector<DialogueMessage> writes(const std::vector<std::uint32_t>& lengths) {
  std::vector<DialogueMessage> messages;
  for (const std::uint32_t length : lengths) {
    DialogueMessage message;
    message.facts.number = static_cast<std::uint32_t>(messages.size() + 1);
    message.facts.operation = wire::Operation::write;
    message.facts.state = analysis::MessageState::complete;
    message.facts.length = length;
    messages.push_back(message);
  }
  return messages;
}

using Pairs = std::vector<AlignedPair>;

TEST_CASE("messages go with each other in their order", "[message_alignment]") {
  CHECK(align_messages(writes({1, 2, 3}), writes({1, 2, 3})) == Pairs{{0, 0}, {1, 1}, {2, 2}});
  CHECK(align_messages({}, {}).empty());
}

TEST_CASE("a message that one lacks goes with nothing", "[message_alignment]") {
  CHECK(align_messages(writes({1, 2, 3, 4}), writes({1, 3, 4})) ==
        Pairs{{0, 0}, {1, kNone}, {2, 1}, {3, 2}});
  CHECK(align_messages(writes({1, 3, 4}), writes({1, 2, 3, 4})) ==
        Pairs{{0, 0}, {kNone, 1}, {1, 2}, {2, 3}});
  CHECK(align_messages(writes({1, 2}), writes({1})) == Pairs{{0, 0}, {1, kNone}});
  CHECK(align_messages(writes({1}), writes({1, 2})) == Pairs{{0, 0}, {kNone, 1}});
}

TEST_CASE("a message that is another one goes with its counterpart", "[message_alignment]") {
  CHECK(align_messages(writes({1, 2, 3, 4}), writes({1, 9, 3, 4})) ==
        Pairs{{0, 0}, {1, 1}, {2, 2}, {3, 3}});
  CHECK(align_messages(writes({1, 2}), writes({8, 9})) == Pairs{{0, 0}, {1, 1}});
}

TEST_CASE("what a capture holds only the end of goes with nothing", "[message_alignment]") {
  auto late = writes({5, 1, 2});
  late[0].facts.number = 0;
  CHECK(align_messages(late, writes({1, 2})) == Pairs{{1, 0}, {2, 1}});
}

}  // namespace
}  // namespace softrnic::replay
