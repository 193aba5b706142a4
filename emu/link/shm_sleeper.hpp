// SPDX-License-Identifier: BSD-3-Clause
// Waking who sleeps at a port, by a descriptor that poll(2) knows: a FIFO beside the segment.
//
// A byte is written only for a receiver that has said it waits, so that nobody who is awake costs
// or is cost a system call.
#pragma once

#include <array>

#include "link/shm_port.hpp"
#include "link/shm_ring.hpp"

namespace softrnic::link::shm {

// The receiver's end: asks to be woken when nothing has come for a while.
class Sleeper {
 public:
  // So long: a ping-pong of spinning ends shall not pay for system calls.
  static constexpr wire::Duration kQuiet = std::chrono::microseconds(30);

  explicit Sleeper(Port& port);

  int descriptor() const { return bell_.get(); }
  // When to look at the ring again before it is time to sleep; kNever when senders will ring.
  wire::Instant next_deadline() const { return armed_ ? wire::kNever : quiet_since_ + kQuiet; }
  // After each look at the ring, which found `taken` frames.
  void after_burst(wire::Instant now, std::size_t taken, RingReceiver& ring);
  // Asks to be woken at once; false when there is something in the ring.
  bool prepare(RingReceiver& ring);

 private:
  void arm(RingReceiver& ring);
  void disarm();
  void silence();

  Word<std::uint32_t>* waiting_;
  FileDescriptor bell_;
  bool armed_ = false;
  // Bytes that have been or are about to be written to the bell: one for each time that a sender
  // found us waiting.
  std::size_t owed_ = 0;
  wire::Instant quiet_since_{};
};

// The senders' ends, opened when first rung.
class Bells {
 public:
  explicit Bells(Port& port) : segment_(&port.segment()) {}
  // Rings at a port if its receiver waits.
  void ring(std::size_t port);

 private:
  const Segment* segment_;
  std::array<FileDescriptor, kPorts> bells_;
};

}  // namespace softrnic::link::shm
