// SPDX-License-Identifier: BSD-3-Clause
#include "replay/operation_schedule.hpp"

#include <catch2/catch.hpp>

namespace softrnic::replay {

namespace {

using std::chrono::milliseconds;

constexpr wire::Instant kCaptured{std::chrono::seconds(1000)};
constexpr wire::Instant kLive{std::chrono::seconds(5000)};

// Three operations: at 0 ms; at 10 ms; at 30 ms, after the first completed at 20 ms and a message
// came at 25 ms.
RecordedSide made_side() {
  RecordedSide side;
  side.operations.resize(3);
  side.operations[0].at = kCaptured;
  side.operations[1].at = kCaptured + milliseconds(10);
  side.operations[2].at = kCaptured + milliseconds(30);
  side.operations[2].own_completed = 1;
  side.operations[2].completed_at = kCaptured + milliseconds(20);
  side.operations[2].heard = 1;
  side.operations[2].heard_at = kCaptured + milliseconds(25);
  return side;
}

constexpr wire::Duration kForEver = wire::Duration::max();

}  // namespace

TEST_CASE("Operations keep their distance in time") {
  const RecordedSide side = made_side();
  OperationSchedule schedule(side, {}, kForEver, 1);
  schedule.start(kLive);
  CHECK(schedule.due(kLive) == &side.operations[0]);
  schedule.pop();
  CHECK(schedule.due(kLive) == nullptr);
  CHECK(schedule.next_deadline() == kLive + milliseconds(10));
  CHECK(schedule.due(kLive + milliseconds(10)) == &side.operations[1]);
}

TEST_CASE("At another speed they keep it in proportion, and fast they keep none") {
  const RecordedSide side = made_side();
  OperationSchedule twice(side, {.fast = false, .speed = 2}, kForEver, 1);
  twice.start(kLive);
  twice.pop();
  CHECK(twice.due(kLive) == nullptr);
  CHECK(twice.next_deadline() == kLive + milliseconds(5));
  OperationSchedule fast(side, {.fast = true, .speed = 1}, kForEver, 1);
  fast.start(kLive);
  fast.pop();
  CHECK(fast.due(kLive) == &side.operations[1]);
}

TEST_CASE("An operation waits for completions and messages, and all shifts when they are late") {
  const RecordedSide side = made_side();
  OperationSchedule schedule(side, {}, kForEver, 1);
  schedule.start(kLive);
  schedule.pop();
  schedule.pop();
  CHECK(schedule.due(kLive + milliseconds(40)) == nullptr);
  CHECK(schedule.next_deadline() == wire::kNever);
  schedule.note(kLive + milliseconds(41), 1, 0);
  CHECK(schedule.due(kLive + milliseconds(60)) == nullptr);
  schedule.note(kLive + milliseconds(100), 1, 1);
  // 75 ms later than captured: so is the operation, 5 ms after what it waited for.
  CHECK(schedule.due(kLive + milliseconds(104)) == nullptr);
  CHECK(schedule.next_deadline() == kLive + milliseconds(105));
  CHECK(schedule.due(kLive + milliseconds(105)) == &side.operations[2]);
}

TEST_CASE("Messages that do not come are waited for as long as patience lasts") {
  const RecordedSide side = made_side();
  OperationSchedule schedule(side, {.fast = true, .speed = 1}, milliseconds(500), 1);
  schedule.start(kLive);
  schedule.pop();
  schedule.pop();
  schedule.note(kLive + milliseconds(41), 1, 0);
  CHECK(schedule.due(kLive + milliseconds(60)) == nullptr);
  CHECK(schedule.next_deadline() == kLive + milliseconds(541));
  CHECK_FALSE(schedule.gave_up_hearing());
  CHECK(schedule.due(kLive + milliseconds(541)) == &side.operations[2]);
  CHECK(schedule.gave_up_hearing());
}

TEST_CASE("At the end it waits for what the other side still says") {
  const RecordedSide side = made_side();
  OperationSchedule schedule(side, {.fast = true, .speed = 1}, milliseconds(500), 2);
  schedule.start(kLive);
  schedule.note(kLive, 3, 1);
  for (int i = 0; i < 3; ++i) schedule.pop();
  CHECK(schedule.due(kLive + milliseconds(1)) == nullptr);
  CHECK(schedule.next_deadline() == kLive + milliseconds(500));
  CHECK(schedule.due(kLive + milliseconds(500)) == nullptr);
  CHECK(schedule.gave_up_hearing());
}

}  // namespace softrnic::replay
