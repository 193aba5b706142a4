// SPDX-License-Identifier: BSD-3-Clause
#include "replay/recorded_connection.hpp"

#include <algorithm>
#include <map>

#include "unit/replay/sample.hpp"

namespace softrnic::replay::test {

namespace {

using wire::Operation;

std::vector<std::byte> bytes_of(RecordedConnection& connection, const RecordedOperation& o) {
  const auto span = connection.bytes(o.payload);
  return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("Every kind of operation is recorded with what it carries") {
  RecordedConnection connection = recorded("rc-all-v6");
  const RecordedSide& side = connection.sides[0];
  std::map<Operation, std::uint32_t> kinds;
  for (const RecordedOperation& operation : side.operations) {
    ++kinds[operation.operation];
    CHECK(operation.unknown == 0);
    CHECK_FALSE(operation.refusal.is_nak());
    if (operation.carries_payload() || operation.is_read()) {
      CHECK(operation.payload.size == operation.length);
    }
    if (operation.is_read() || operation.is_atomic()) CHECK(operation.has_response);
  }
  CHECK(kinds[Operation::send] == 4);
  CHECK(kinds[Operation::write] == 5);
  CHECK(kinds[Operation::read_request] == 3);
  CHECK(kinds[Operation::compare_swap] == 2);
  CHECK(kinds[Operation::fetch_add] == 1);
  CHECK(connection.path_mtu == 256);
  CHECK(side.left_out == 0);
  CHECK(connection.sides[1].operations.empty());
}

TEST_CASE("The same operations whatever is lost, repeated or reordered on the way") {
  for (const char* name : {"loss-nak", "loss-timeout", "loss-ack", "loss-read-response", "reorder",
                           "duplicate", "loss-psn-wrap", "rnr"}) {
    INFO(name);
    RecordedConnection connection = recorded(name);
    const std::vector<RecordedOperation>& operations = connection.sides[0].operations;
    REQUIRE_FALSE(operations.empty());
    CHECK(connection.sides[0].left_out == 0);
    std::uint32_t position = 0;
    for (const RecordedOperation& operation : operations) {
      CHECK(operation.unknown == 0);
      CHECK(operation.first_psn.since(operations.front().first_psn) ==
            static_cast<std::int32_t>(position));
      position += operation.psn_count;
      const auto bytes = bytes_of(connection, operation);
      if (operation.length > 256) {
        // A stretch of zeros would be a packet that was not put in its place.
        for (std::size_t at = 0; at + 256 <= bytes.size(); at += 256) {
          CHECK(std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                            bytes.begin() + static_cast<std::ptrdiff_t>(at + 256),
                            [](std::byte b) { return b != std::byte{0}; }));
        }
      }
    }
  }
}

TEST_CASE("What the responder refused is known of the operation") {
  const RecordedConnection unknown_key = recorded("nak-unknown-key");
  CHECK(unknown_key.sides[0].operations.back().refusal ==
        wire::Syndrome::nak(wire::NakCode::remote_access_error));
  const RecordedConnection rnr = recorded("rnr");
  const auto& operations = rnr.sides[0].operations;
  CHECK(std::any_of(operations.begin(), operations.end(),
                    [](const RecordedOperation& o) { return o.rnr_naks != 0; }));
}

TEST_CASE("An operation knows what its sender had seen") {
  RecordedConnection connection = recorded("rc-all-v6");
  std::uint32_t index = 0;
  for (const RecordedOperation& operation : connection.sides[0].operations) {
    CHECK(operation.own_completed <= index);
    CHECK(operation.heard == 0);
    CHECK(operation.completed_at <= operation.at);
    ++index;
  }
  CHECK(connection.sides[0].most_outstanding >= 1);
}

TEST_CASE("The connection manager's connection is read from both ends") {
  RecordedConnection connection = recorded("cm-connect");
  const std::size_t asked = connection.sides[0].operations.size();
  const std::size_t answered = connection.sides[1].operations.size();
  CHECK(asked + answered > 0);
  RecordedConnection turned = recorded("cm-connect", [&] {
    ConnectionChoice choice;
    choice.ends = {EndName{connection.sides[1].address, connection.sides[1].qpn},
                   EndName{connection.sides[0].address, connection.sides[0].qpn}};
    return choice;
  }());
  CHECK(turned.sides[0].operations.size() == answered);
  CHECK(turned.sides[1].operations.size() == asked);
}

TEST_CASE("Standard input is not read twice") {
  const auto piped = record_connection("-", {});
  REQUIRE_FALSE(piped);
  CHECK(piped.error().find("pipe") != std::string::npos);
}

}  // namespace softrnic::replay::test
