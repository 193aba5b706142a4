// SPDX-License-Identifier: BSD-3-Clause
// The replay of a capture's frames, as they are, onto a link.
//
// Time is the clock's, so the same code runs under a virtual one. Frames that are due together
// leave in one burst; between bursts the link is looked at for what comes back.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "link/link.hpp"
#include "replay/frame_source.hpp"
#include "replay/pacing.hpp"
#include "replay/replay_clock.hpp"
#include "replay/timing_error.hpp"

namespace softrnic::replay {

struct WireReplayOptions {
  PacingOptions pacing{};
  std::uint64_t loops = 1;  // 0: without end
  // Whether to take what comes back from the link (a capture around it sees it then), and how long
  // to go on with it once the last frame is sent.
  bool listen = false;
  wire::Duration linger{};
};

struct WireReplayResult {
  std::uint64_t sent = 0;  // taken by the link
  std::uint64_t sent_bytes = 0;
  std::uint64_t dropped = 0;     // refused by the link
  std::uint64_t unsendable = 0;  // longer than the link's MTU, or too short for a header; not sent
  std::size_t longest = 0;       // of those, bytes
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t loops = 0;    // begun
  wire::Duration duration{};  // from the first frame to the end of the last burst
  TimingError timing;
  bool stopped = false;
};

class WireReplay {
 public:
  // Called now and then: true ends the replay.
  using Stop = std::function<bool(const WireReplayResult&)>;

  WireReplay(link::Link& link, FrameSource& source, ReplayClock& clock,
             const WireReplayOptions& options)
      : link_(link), source_(source), clock_(clock), options_(options), pacing_(options.pacing) {}

  // One sentence on why it ended before its end, or nothing.
  std::optional<std::string> run(const Stop& stop);

  const WireReplayResult& result() const { return result_; }

 private:
  static constexpr std::size_t kBurst = 64;

  bool load();
  bool load_next_loop();
  bool is_sendable(const SourceFrame& frame) const;
  bool send_what_is_due(const Stop& stop);
  std::size_t fill_burst(wire::Instant now);
  void push_burst(std::size_t count);
  bool wait_for_next(const Stop& stop);
  void wait_for_room();
  void flush();
  void receive();
  void linger(const Stop& stop);
  void account();

  link::Link& link_;
  FrameSource& source_;
  ReplayClock& clock_;
  WireReplayOptions options_;
  Pacing pacing_;
  WireReplayResult result_;
  std::optional<std::string> failure_;

  wire::Instant begin_;
  const SourceFrame* next_ = nullptr;
  wire::Duration due_{};
  std::uint64_t loop_sends_ = 0;  // frames of this loop that could be sent
  std::array<link::Frame*, kBurst> burst_{};
  std::array<wire::Duration, kBurst> burst_due_{};
  std::uint64_t dropped_before_ = 0;
  std::uint64_t sent_before_ = 0;
  std::uint64_t bytes_before_ = 0;
};

}  // namespace softrnic::replay
