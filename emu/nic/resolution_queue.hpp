// SPDX-License-Identifier: BSD-3-Clause
// Finished frames that only lack the destination's MAC address: UD packets and echo requests to a
// neighbour still being resolved. Bounded; the MAC address is not under the ICRC, so it can be
// filled in late.
#pragma once

#include <array>

#include "nic/frame_sender.hpp"
#include "nic/neighbor_table.hpp"
#include "transport/counters.hpp"

namespace softrnic::nic {

class ResolutionQueue {
 public:
  static constexpr std::size_t kCapacity = 32;

  ResolutionQueue(NeighborTable& neighbors, FrameSender& frames, transport::Counters& counters)
      : neighbors_(neighbors), frames_(frames), counters_(counters) {}
  ~ResolutionQueue();
  ResolutionQueue(const ResolutionQueue&) = delete;
  ResolutionQueue& operator=(const ResolutionQueue&) = delete;

  // Keeps the frame until `destination` is resolved; drops and counts it when full.
  void park(link::Frame* frame, const wire::Gid& destination);
  // Sends the frames whose neighbour has answered, drops those whose neighbour has not. To be
  // called when the neighbour table has changed.
  void settle(wire::Instant now);
  bool empty() const { return count_ == 0; }

 private:
  struct Parked {
    link::Frame* frame = nullptr;
    wire::Gid destination;
  };

  NeighborTable& neighbors_;
  FrameSender& frames_;
  transport::Counters& counters_;
  std::array<Parked, kCapacity> parked_{};
  std::size_t count_ = 0;
};

}  // namespace softrnic::nic
