// SPDX-License-Identifier: BSD-3-Clause
// RoCE packets on their way out: takes packets from queue pairs in turn, puts everything below
// the BTH, the pad and the ICRC around them, and sends the frames.
#pragma once

#include "nic/address_handle_table.hpp"
#include "nic/frame_sender.hpp"
#include "nic/multicast_group_table.hpp"
#include "nic/neighbor_table.hpp"
#include "nic/queue_pair_scheduler.hpp"
#include "nic/resolution_queue.hpp"
#include "transport/counters.hpp"

namespace softrnic::nic {

class PacketSender {
 public:
  // Frames one queue pair may send before it is the next one's turn.
  static constexpr std::size_t kBurstPerQueuePair = 32;
  // Frames, and polls that gave none, per turn of the crank.
  static constexpr std::size_t kBudget = 128;

  // `numbers`: the queue pair numbers that are ours, where the NIC is other processes' too.
  PacketSender(QueuePairScheduler& scheduler, AddressHandleTable& handles,
               const MulticastGroupTable& groups, NeighborTable& neighbors, FrameSender& frames,
               ResolutionQueue& resolution, transport::Counters& counters,
               std::uint32_t max_path_mtu, const link::QueuePairNumbers& numbers = {})
      : scheduler_(scheduler),
        handles_(handles),
        groups_(groups),
        neighbors_(neighbors),
        frames_(frames),
        resolution_(resolution),
        counters_(counters),
        max_path_mtu_(max_path_mtu),
        numbers_(numbers) {}

  // True when something was polled. Afterwards starved() tells whether the link had no frame to
  // lend, so that what is left must wait for it.
  bool transmit(wire::Instant now);
  bool starved() const { return starved_; }

 private:
  // How a queue pair's time ended.
  enum class Outcome : std::uint8_t { served, starved, held };

  Outcome serve(wire::Instant now, QueuePairEntry& entry, std::size_t& budget);
  Outcome send_one(wire::Instant now, QueuePairEntry& entry);
  Outcome drop(link::Frame* frame);
  // What goes to a group of ours goes to ourselves as well, its sender among them (10.5.2.1).
  void loop_copy(const link::Frame& frame);
  // Whether the polled packet, to one of our addresses, is for this process.
  bool is_ours() const;
  // Where the polled packet goes; null when its handle is gone.
  Path* path_of(QueuePairEntry& entry);
  const wire::AddressVector& vector_of(const QueuePairEntry& entry, const Path& path);
  // Completes the frame around the payload that was laid in it. False when it does not fit.
  bool finish(link::Frame& frame, const wire::AddressVector& vector);

  QueuePairScheduler& scheduler_;
  AddressHandleTable& handles_;
  const MulticastGroupTable& groups_;
  NeighborTable& neighbors_;
  FrameSender& frames_;
  ResolutionQueue& resolution_;
  transport::Counters& counters_;
  std::uint32_t max_path_mtu_;
  link::QueuePairNumbers numbers_;
  transport::OutboundPacket packet_;  // the one being sent
  wire::AddressVector datagram_vector_;
  bool starved_ = false;
};

}  // namespace softrnic::nic
