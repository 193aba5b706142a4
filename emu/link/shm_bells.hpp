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

// The receiver's end.
class Bell {
 public:
  explicit Bell(Port& port);

  int descriptor() const { return bell_.get(); }
  bool armed() const { return armed_; }
  // From now on senders ring. False when something has come meanwhile: it is not armed then.
  bool arm(const RingReceiver& ring);
  void disarm();
  // Takes what was rung, so that the descriptor is no longer readable.
  void silence();

 private:
  Word<std::uint32_t>* waiting_;
  FileDescriptor bell_;
  bool armed_ = false;
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
