// SPDX-License-Identifier: BSD-3-Clause
// The conversation of captured_talk.hpp, explained.
#pragma once

#include "explain/explanation.hpp"
#include "unit/analysis/captured_talk.hpp"

namespace softrnic::explain::test {

using namespace std::chrono_literals;
using analysis::Frame;
using analysis::test::kAlice;
using analysis::test::kBob;
using wire::Opcode;
using wire::Syndrome;

inline capture::PacketReading reading_of(const Frame& frame) {
  capture::PacketReading reading;
  reading.traffic = capture::Traffic::roce_v2;
  reading.frame = frame;
  return reading;
}

class ExplainedTalk {
 public:
  explicit ExplainedTalk(ConnectionFilter filter = {}) : explanation(std::move(filter)) {
    talk.also = [this](const Frame& frame) {
      explanation.on_packet(reading_of(frame), ConnectionAccount::kNoVlan);
    };
  }

  Explanation& finished() {
    explanation.finish();
    return explanation;
  }
  const ConnectionAccount& account(std::uint32_t connection = 0) {
    finished();
    REQUIRE(connection < explanation.connection_count());
    return explanation.account(connection);
  }
  const OperationAccount& only_operation() {
    const auto& operations = account().operations;
    REQUIRE(std::distance(operations.begin(), operations.end()) == 1);
    return account().operations.front();
  }
  const Loss& only_loss() {
    finished();
    REQUIRE(explanation.losses().size() == 1);
    return explanation.losses().front();
  }
  const Moment& worst() {
    finished();
    REQUIRE(!explanation.worst_moments().moments().empty());
    return explanation.worst_moments().moments().front();
  }

  Explanation explanation;
  analysis::test::CapturedTalk talk;
};

}  // namespace softrnic::explain::test
