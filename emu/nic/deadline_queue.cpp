// SPDX-License-Identifier: BSD-3-Clause
#include "nic/deadline_queue.hpp"

#include <algorithm>

namespace softrnic::nic {

void DeadlineQueue::set(Timed& item, wire::Instant deadline) {
  if (deadline == wire::kNever) {
    if (item.has_deadline()) take(item.place_);
    return;
  }
  if (!item.has_deadline()) {
    heap_.push_back({deadline, &item});
    sift(heap_.size() - 1, heap_.back());
  } else if (heap_[item.place_].deadline != deadline) {
    sift(item.place_, {deadline, &item});
  }
}

void DeadlineQueue::reserve(std::size_t items) {
  // By doubling: one more each time must not copy everything each time.
  if (items > heap_.capacity()) heap_.reserve(std::max(items, heap_.capacity() * 2));
}

Timed* DeadlineQueue::pop_due(wire::Instant now) {
  if (heap_.empty() || heap_.front().deadline > now) return nullptr;
  Timed* item = heap_.front().item;
  take(0);
  return item;
}

void DeadlineQueue::take(std::size_t place) {
  heap_[place].item->place_ = Timed::kNowhere;
  const Node last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) sift(place, last);
}

// Finds the place for `node`, starting from the free one at `place`, towards the top or the leaves.
void DeadlineQueue::sift(std::size_t place, Node node) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / kArity;
    if (heap_[parent].deadline <= node.deadline) break;
    put(place, heap_[parent]);
    place = parent;
  }
  for (;;) {
    const std::size_t first = place * kArity + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kArity, heap_.size());
    std::size_t child = first;
    for (std::size_t i = first + 1; i < end; ++i) {
      if (heap_[i].deadline < heap_[child].deadline) child = i;
    }
    if (heap_[child].deadline >= node.deadline) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, node);
}

void DeadlineQueue::put(std::size_t place, const Node& node) {
  heap_[place] = node;
  node.item->place_ = static_cast<std::uint32_t>(place);
}

}  // namespace softrnic::nic
