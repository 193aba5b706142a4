// SPDX-License-Identifier: BSD-3-Clause
// The ring of frames that wait at a port: any number of senders, one receiver, no lock.
//
// A frame is already in its sender's buffer when it is announced, and the announcement is one word
// put into a slot by one compare-and-swap: a sender that dies leaves it done or not done. A slot's
// word says which lap it belongs to, so that it is known for full or empty by itself; `tail` is
// where senders try first, no more, and whoever finds it behind moves it on.
#pragma once

#include <cstdint>
#include <optional>

#include "link/shm_layout.hpp"

namespace softrnic::link::shm {

// Where a frame lies.
struct Descriptor {
  std::uint32_t port = 0;    // whose buffer: 7 bits
  std::uint32_t buffer = 0;  // 9 bits
  std::uint32_t offset = 0;  // of its first byte in the buffer: 8 bits
  std::uint32_t length = 0;  // 14 bits

  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};
inline constexpr std::uint32_t kMostOffset = 0xff;

class RingSender {
 public:
  RingSender(PortRecord& record, PortArea& area) : record_(&record), ring_(&area.ring) {}
  // False when the ring is full.
  bool push(const Descriptor& descriptor);

 private:
  PortRecord* record_;
  decltype(PortArea::ring)* ring_;
};

class RingReceiver {
 public:
  // Continues where the last receiver of this ring ended, wherever it did.
  RingReceiver(PortRecord& record, PortArea& area);

  bool empty() const;
  // What a slot holds is the sender's word, not ours: check it.
  std::optional<Descriptor> pop();
  // Tells those who come after us how far we are.
  void publish() { record_->head.store(head_, std::memory_order_relaxed); }
  // Puts right what a process that writes where it should not has made of the ring; only when
  // empty().
  void repair();

 private:
  std::uint64_t word() const;
  void reset();

  PortRecord* record_;
  decltype(PortArea::ring)* ring_;
  std::uint64_t head_;
};

}  // namespace softrnic::link::shm
