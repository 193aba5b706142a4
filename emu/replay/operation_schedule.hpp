// SPDX-License-Identifier: BSD-3-Clause
// When an operation of a recorded connection is due at the live one.
//
// An operation waits for what its sender had seen when it sent it: completions of its own, whole
// messages of the other side. Beyond that it keeps its distance in time from the first one, and
// when what it waits for comes later than it did in the capture, all that follows is as much later.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/recorded_connection.hpp"

namespace softrnic::replay {

struct Pace {
  bool fast = false;   // as soon as the protocol allows
  double speed = 1.0;  // of the capture's; 2 is twice as fast

  wire::Duration scaled(wire::Duration captured) const;
};

class OperationSchedule {
 public:
  // `patience`: how long to wait for messages that the other side does not send, before they are
  // waited for no more; Duration::max(): for ever. `to_hear`: all that the other side says, which
  // is waited for at the end.
  OperationSchedule(const RecordedSide& side, const Pace& pace, wire::Duration patience,
                    std::uint32_t to_hear)
      : side_(side), pace_(pace), patience_(patience), to_hear_(to_hear) {}

  void start(wire::Instant now);
  // How far the connection is: own operations completed, messages of the other side heard.
  void note(wire::Instant now, std::uint32_t completed, std::uint32_t heard);

  // The next operation, when it is due; nothing when it is not, or none is left.
  const RecordedOperation* due(wire::Instant now);
  void pop() { ++next_; }
  std::uint32_t next() const { return next_; }
  bool empty() const { return next_ == side_.operations.size(); }

  // When due() may give something although nothing was noted.
  wire::Instant next_deadline() const { return deadline_; }

  // Messages of the other side were waited for in vain.
  bool gave_up_hearing() const { return deaf_; }

 private:
  bool has_heard(wire::Instant now, std::uint32_t messages);
  wire::Instant planned(wire::Instant captured) const;

  const RecordedSide& side_;
  Pace pace_;
  wire::Duration patience_;
  std::uint32_t to_hear_;
  wire::Instant start_{};
  wire::Duration slip_{};
  std::uint32_t next_ = 0;
  bool deaf_ = false;
  wire::Instant deadline_ = wire::kNever;
  wire::Instant last_heard_{};
  // When each count was reached.
  std::vector<wire::Instant> completed_;
  std::vector<wire::Instant> heard_;
};

}  // namespace softrnic::replay
