// SPDX-License-Identifier: BSD-3-Clause
// Deadlines of many queue pairs: a heap in which each knows its place, so that a deadline moves
// in O(log n) and never appears twice.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/instant.hpp"

namespace softrnic::nic {

// What has a deadline derives from this. At most one queue holds it.
class Timed {
 public:
  bool has_deadline() const { return place_ != kNowhere; }

 private:
  friend class DeadlineQueue;
  static constexpr std::uint32_t kNowhere = ~0u;
  std::uint32_t place_ = kNowhere;
};

class DeadlineQueue {
 public:
  // Moves, adds, or (kNever) takes out.
  void set(Timed& item, wire::Instant deadline);
  void remove(Timed& item) { set(item, wire::kNever); }
  // Takes out one whose deadline is at or before `now`, the earliest first; null when none is.
  Timed* pop_due(wire::Instant now);
  wire::Instant next() const { return heap_.empty() ? wire::kNever : heap_.front().deadline; }
  std::size_t size() const { return heap_.size(); }
  // Room for this many, so that set() does not allocate.
  void reserve(std::size_t items);

 private:
  // Four children to a node: half the levels of a binary heap, and siblings share a cache line.
  static constexpr std::size_t kArity = 4;

  struct Node {
    wire::Instant deadline;
    Timed* item;
  };

  void take(std::size_t place);
  void sift(std::size_t place, Node node);
  void put(std::size_t place, const Node& node);

  std::vector<Node> heap_;
};

}  // namespace softrnic::nic
