// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_ring.hpp"

#include <bit>

namespace softrnic::link::shm {

namespace {

// A slot: lap, whether it is filled, and the descriptor.
constexpr unsigned kLengthBits = 14;
constexpr unsigned kOffsetBits = 8;
constexpr unsigned kBufferBits = 9;
constexpr unsigned kPortBits = 7;
constexpr unsigned kFilledAt = kLengthBits + kOffsetBits + kBufferBits + kPortBits;
constexpr unsigned kLapAt = kFilledAt + 1;
constexpr std::uint64_t kLapMask = ~std::uint64_t{0} >> kLapAt;
constexpr unsigned kRingBits = std::countr_zero(kRing);
static_assert(std::has_single_bit(kRing));
static_assert(kMaxBuffers <= std::size_t{1} << kBufferBits);
static_assert(kPorts <= std::size_t{1} << kPortBits);
static_assert(kMostMtu + wire::EthernetHeader::kMaxSize < 1u << kLengthBits);

// Slots a sender tries before it gives up: it meets a slot more than once only while others send
// too, or when the ring is damaged.
constexpr int kTries = 1000;

std::uint64_t lap_of(std::uint64_t position) {
  return position >> kRingBits & kLapMask;
}

std::uint64_t slot_lap(std::uint64_t word) {
  return word >> kLapAt;
}

bool filled(std::uint64_t word) {
  return (word >> kFilledAt & 1) != 0;
}

std::uint64_t empty_word(std::uint64_t lap) {
  return (lap & kLapMask) << kLapAt;
}

std::uint64_t filled_word(std::uint64_t lap, const Descriptor& d) {
  return empty_word(lap) | std::uint64_t{1} << kFilledAt |
         std::uint64_t{d.port} << (kLengthBits + kOffsetBits + kBufferBits) |
         std::uint64_t{d.buffer} << (kLengthBits + kOffsetBits) |
         std::uint64_t{d.offset} << kLengthBits | d.length;
}

std::uint32_t field(std::uint64_t word, unsigned at, unsigned bits) {
  return static_cast<std::uint32_t>(word >> at & ((std::uint64_t{1} << bits) - 1));
}

Descriptor descriptor_of(std::uint64_t word) {
  return {.port = field(word, kLengthBits + kOffsetBits + kBufferBits, kPortBits),
          .buffer = field(word, kLengthBits + kOffsetBits, kBufferBits),
          .offset = field(word, kLengthBits, kOffsetBits),
          .length = field(word, 0, kLengthBits)};
}

}  // namespace

bool RingSender::push(const Descriptor& descriptor) {
  std::uint64_t position = record_->tail.load(std::memory_order_acquire);
  for (int i = 0; i < kTries; ++i) {
    Word<std::uint64_t>& slot = (*ring_)[position % kRing];
    const std::uint64_t lap = lap_of(position);
    std::uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == empty_word(lap)) {
      // In one order with the receiver's look at the slot after it has said that it waits.
      if (slot.compare_exchange_strong(seen, filled_word(lap, descriptor),
                                       std::memory_order_seq_cst)) {
        record_->tail.compare_exchange_strong(position, position + 1, std::memory_order_acq_rel);
        return true;
      }
    }
    if (slot_lap(seen) == ((lap - 1) & kLapMask) && filled(seen)) return false;
    // Somebody has filled it: the tail is behind.
    if (record_->tail.compare_exchange_strong(position, position + 1, std::memory_order_acq_rel)) {
      ++position;
    }
  }
  return false;
}

RingReceiver::RingReceiver(PortRecord& record, PortArea& area)
    : record_(&record), ring_(&area.ring), head_(record.head.load(std::memory_order_acquire)) {
  // The last receiver may have died after it took frames and before it said so.
  for (std::size_t i = 0; i < kRing && slot_lap(word()) == lap_of(head_ + kRing); ++i) ++head_;
  if (slot_lap(word()) != lap_of(head_)) reset();
  publish();
}

std::uint64_t RingReceiver::word() const {
  return (*ring_)[head_ % kRing].load(std::memory_order_seq_cst);
}

bool RingReceiver::empty() const {
  return word() == empty_word(lap_of(head_));
}

std::optional<Descriptor> RingReceiver::pop() {
  const std::uint64_t seen = word();
  const std::uint64_t lap = lap_of(head_);
  if (seen == empty_word(lap)) return std::nullopt;
  if (slot_lap(seen) != lap || !filled(seen)) {
    // Nobody writes such a word on purpose.
    (*ring_)[head_ % kRing].store(empty_word(lap), std::memory_order_release);
    return std::nullopt;
  }
  (*ring_)[head_ % kRing].store(empty_word(lap + 1), std::memory_order_release);
  ++head_;
  return descriptor_of(seen);
}

void RingReceiver::repair() {
  // With nothing in the ring, senders shall begin at its head. One that has just filled the slot
  // and moved the tail on loses nothing: the next sender moves it on again.
  std::uint64_t tail = record_->tail.load(std::memory_order_acquire);
  if (tail != head_) record_->tail.compare_exchange_strong(tail, head_, std::memory_order_acq_rel);
}

void RingReceiver::reset() {
  head_ = (head_ + kRing) / kRing * kRing;
  const std::uint64_t lap = lap_of(head_);
  for (Word<std::uint64_t>& slot : *ring_) slot.store(empty_word(lap), std::memory_order_release);
  record_->tail.store(head_, std::memory_order_release);
}

}  // namespace softrnic::link::shm
