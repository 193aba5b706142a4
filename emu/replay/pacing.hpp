// SPDX-License-Identifier: BSD-3-Clause
// Pacing: when each frame of a replay is due.
//
// Sans-I/O. Deadlines are absolute, counted from the replay's beginning, so that what one frame is
// late does not delay those behind it.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/instant.hpp"

namespace softrnic::replay {

struct PacingOptions {
  enum class Kind : std::uint8_t {
    captured,     // the gaps of the capture, divided by `factor`
    bit_rate,     // `factor` bits of frames (without preamble, FCS and gap) a second
    packet_rate,  // `factor` frames a second
    full,         // as fast as the link takes them
  };
  Kind kind = Kind::captured;
  double factor = 1;
};

class Pacing {
 public:
  explicit Pacing(const PacingOptions& options) : options_(options) {}

  // The next frame's deadline. Never before the one before it, though the capture's clock may go
  // back.
  wire::Duration next(wire::Instant captured_at, std::size_t size);

  // The capture begins anew: its first frame comes a mean gap behind the last one.
  void begin_loop();

  bool paced() const { return options_.kind != PacingOptions::Kind::full; }

 private:
  wire::Duration captured(wire::Instant at);

  PacingOptions options_;
  std::uint64_t frames_ = 0;            // all before the next one
  double bits_ = 0;                     // of them
  std::uint64_t loop_frames_ = 0;       // of this loop
  std::optional<wire::Instant> first_;  // of this loop
  wire::Duration loop_begin_{};
  wire::Duration last_{};
};

}  // namespace softrnic::replay
