// SPDX-License-Identifier: BSD-3-Clause
// Which queue pair gets the crank next: those that wait to be looked at again, those that want to
// transmit (round robin), those held back for a neighbour, and everyone's deadlines. O(1) for each
// packet, O(log n) for a deadline that moves.
#pragma once

#include "nic/deadline_queue.hpp"
#include "nic/intrusive_list.hpp"
#include "nic/neighbor_table.hpp"
#include "nic/queue_pair_table.hpp"

namespace softrnic::nic {

class QueuePairScheduler {
 public:
  // Something was done to the queue pair: it is looked at again in settle().
  void touch(QueuePairEntry& entry);
  // Refreshes the deadlines of all that were touched and lines up those that want to transmit.
  void settle(wire::Instant now);

  // Takes the next that wants to transmit; null when none does. Afterwards served(), put_back() or
  // hold() says what became of it.
  QueuePairEntry* next_ready();
  void served(QueuePairEntry& entry, wire::Instant now);
  void put_back(QueuePairEntry& entry);
  // Not polled again until the neighbour has answered or failed.
  void hold(QueuePairEntry& entry, const wire::Gid& neighbor);
  // Not held any longer, if it was.
  void release(QueuePairEntry& entry);
  // Lines up again whoever was held for a neighbour that is no longer being resolved.
  void release_held(const NeighborTable& neighbors);

  // Calls on_deadline() for at most `most` of those due; returns how many.
  std::size_t expire(wire::Instant now, std::size_t most);

  // Makes room for the deadlines of this many, so that nothing allocates later.
  void reserve(std::size_t queue_pairs) { deadlines_.reserve(queue_pairs); }
  // The queue pair is about to go.
  void forget(QueuePairEntry& entry);

  bool idle() const { return touched_.empty() && ready_.empty(); }
  wire::Instant next_deadline() const { return deadlines_.next(); }

 private:
  using List = IntrusiveList<QueuePairEntry>;

  void refresh_deadline(QueuePairEntry& entry);
  void make_ready(QueuePairEntry& entry);

  List touched_;
  List ready_;
  List held_;
  DeadlineQueue deadlines_;
};

}  // namespace softrnic::nic
