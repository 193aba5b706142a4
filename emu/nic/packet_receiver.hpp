// SPDX-License-Identifier: BSD-3-Clause
// RoCE packets on their way in: checks everything below and beside the transport, counts what is
// refused, and hands the rest to its queue pair (IBTA vol. 1, 9.6.1; annexes A16 and A17).
#pragma once

#include "nic/interface_identity.hpp"
#include "nic/multicast_group_table.hpp"
#include "nic/queue_pair_scheduler.hpp"
#include "nic/queue_pair_table.hpp"
#include "transport/counters.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::nic {

class PacketReceiver {
 public:
  PacketReceiver(const InterfaceIdentity& identity, const MulticastGroupTable& groups,
                 QueuePairTable& queue_pairs, QueuePairScheduler& scheduler,
                 transport::Counters& counters)
      : identity_(identity),
        groups_(groups),
        queue_pairs_(queue_pairs),
        scheduler_(scheduler),
        counters_(counters) {}

  void receive(wire::Instant now, const wire::PacketView& packet);

 private:
  bool is_for_us(const wire::PacketView& packet) const;
  // Counts the packet as received; false, and counted as that, when its ICRC is wrong.
  bool is_intact(const wire::PacketView& packet);
  // To all of the group's queue pairs (9.6.1.3, 10.5.2).
  void receive_for_group(wire::Instant now, const wire::PacketView& packet);
  void receive_for(wire::Instant now, QueuePairEntry& entry, const wire::PacketView& packet);
  // The counter of the first check that the packet fails, or null.
  std::uint64_t* refusal(const QueuePairEntry& entry, const wire::PacketView& packet);
  void on_congestion_notification(const wire::PacketView& packet);
  void deliver(wire::Instant now, QueuePairEntry& entry, const wire::PacketView& packet);

  const InterfaceIdentity& identity_;
  const MulticastGroupTable& groups_;
  QueuePairTable& queue_pairs_;
  QueuePairScheduler& scheduler_;
  transport::Counters& counters_;
};

}  // namespace softrnic::nic
