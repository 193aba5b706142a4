// SPDX-License-Identifier: BSD-3-Clause
// The crank: one turn receives a burst, lets due timers fire, and transmits a burst, all to
// completion and with bounded work.
#pragma once

#include <array>

#include "link/link.hpp"
#include "nic/frame_receiver.hpp"
#include "nic/frame_sender.hpp"
#include "nic/multicast_membership.hpp"
#include "nic/neighbor_discovery.hpp"
#include "nic/packet_sender.hpp"
#include "nic/queue_pair_scheduler.hpp"
#include "nic/resolution_queue.hpp"

namespace softrnic::nic {

class Engine {
 public:
  // As many frames as a turn sends: READ responses come without a window, so that who takes fewer
  // than its peer sends would lose most of a long one.
  static constexpr std::size_t kReceiveBurst = PacketSender::kBudget;
  static constexpr std::size_t kTimersPerTurn = 256;
  static constexpr std::size_t kProbesPerTurn = 16;
  // How soon to ask again a link that had no frame to lend.
  static constexpr wire::Duration kStarvedRetry = std::chrono::microseconds(20);

  struct Parts {
    link::Link& link;
    FrameReceiver& receiver;
    FrameSender& frames;
    PacketSender& sender;
    QueuePairScheduler& scheduler;
    NeighborTable& neighbors;
    NeighborDiscovery& discovery;
    MulticastMembership& membership;
    ResolutionQueue& resolution;
  };

  // `announce`: the first turn tells the link our addresses.
  Engine(const Parts& parts, bool announce) : parts_(parts), announce_(announce) {}

  bool turn(wire::Instant now);
  // The last part of a turn alone: what was posted.
  bool transmit(wire::Instant now);
  // Instant::min() when there is work at once.
  wire::Instant next_deadline() const;
  // When the crank was last turned. The reference stays good, as a clock.
  const wire::Instant& last_turn() const { return last_turn_; }

 private:
  bool flush_link(wire::Instant now);
  bool receive(wire::Instant now);
  bool receive_looped(wire::Instant now);
  bool discover(wire::Instant now);

  Parts parts_;
  bool announce_;
  bool more_to_receive_ = false;
  std::uint64_t neighbor_generation_ = 0;
  wire::Instant last_turn_{};
  std::array<link::Frame*, kReceiveBurst> burst_{};
};

}  // namespace softrnic::nic
