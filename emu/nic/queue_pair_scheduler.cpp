// SPDX-License-Identifier: BSD-3-Clause
#include "nic/queue_pair_scheduler.hpp"

namespace softrnic::nic {

using Place = QueuePairEntry::Place;

void QueuePairScheduler::touch(QueuePairEntry& entry) {
  switch (entry.place) {
    case Place::idle:
      entry.place = Place::touched;
      touched_.push_back(entry);
      break;
    case Place::held:
      // Stays where it is, but its timers go on.
      refresh_deadline(entry);
      break;
    case Place::touched:
    case Place::ready:  // looked at again when it has been served
      break;
  }
}

void QueuePairScheduler::settle(wire::Instant now) {
  while (QueuePairEntry* entry = touched_.pop_front()) {
    entry->place = Place::idle;
    refresh_deadline(*entry);
    if (entry->queue_pair.wants_transmit(now)) make_ready(*entry);
  }
}

QueuePairEntry* QueuePairScheduler::next_ready() {
  QueuePairEntry* entry = ready_.pop_front();
  if (entry != nullptr) entry->place = Place::idle;
  return entry;
}

void QueuePairScheduler::served(QueuePairEntry& entry, wire::Instant now) {
  refresh_deadline(entry);
  if (entry.queue_pair.wants_transmit(now)) make_ready(entry);
}

void QueuePairScheduler::put_back(QueuePairEntry& entry) {
  refresh_deadline(entry);
  make_ready(entry);
}

void QueuePairScheduler::hold(QueuePairEntry& entry, const wire::Gid& neighbor) {
  refresh_deadline(entry);
  entry.held_for = neighbor;
  entry.place = Place::held;
  held_.push_back(entry);
}

void QueuePairScheduler::release_held(const NeighborTable& neighbors) {
  held_.for_each([&](QueuePairEntry& entry) {
    const auto found = neighbors.find(entry.held_for);
    if (found && found->state == NeighborTable::State::resolving) return;
    release(entry);
  });
}

void QueuePairScheduler::release(QueuePairEntry& entry) {
  if (entry.place != Place::held) return;
  List::remove(entry);
  entry.place = Place::idle;
  touch(entry);
}

std::size_t QueuePairScheduler::expire(wire::Instant now, std::size_t most) {
  std::size_t n = 0;
  for (; n < most; ++n) {
    Timed* due = deadlines_.pop_due(now);
    if (due == nullptr) break;
    auto& entry = *static_cast<QueuePairEntry*>(due);
    entry.queue_pair.on_deadline(now);
    touch(entry);
  }
  return n;
}

void QueuePairScheduler::forget(QueuePairEntry& entry) {
  deadlines_.remove(entry);
  if (entry.place != Place::idle) List::remove(entry);
  entry.place = Place::idle;
}

void QueuePairScheduler::refresh_deadline(QueuePairEntry& entry) {
  deadlines_.set(entry, entry.queue_pair.next_deadline());
}

void QueuePairScheduler::make_ready(QueuePairEntry& entry) {
  entry.place = Place::ready;
  ready_.push_back(entry);
}

}  // namespace softrnic::nic
