// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_sleeper.hpp"

#include <unistd.h>

#include <algorithm>

namespace softrnic::link::shm {

Sleeper::Sleeper(Port& port)
    : waiting_(&port.record().waiting), bell_(port.segment().open_bell(port.index(), true)) {
  waiting_->store(0, std::memory_order_relaxed);
  // Rung for who was here before us.
  std::array<char, 64> bytes;
  while (bell_.valid() && ::read(bell_.get(), bytes.data(), bytes.size()) > 0) {
  }
}

void Sleeper::after_burst(wire::Instant now, std::size_t taken, RingReceiver& ring) {
  if (taken > 0) {
    disarm();
    quiet_since_ = now;
  } else if (armed_) {
    // Rung, and not for what is here: by a sender that was slow to look whether we wait, and whose
    // frame we had found ourselves. Others must find us waiting again.
    if (waiting_->load(std::memory_order_acquire) == 0) {
      ++owed_;
      arm(ring);
    }
    silence();
  } else if (now - quiet_since_ >= kQuiet) {
    arm(ring);
  }
}

bool Sleeper::prepare(RingReceiver& ring) {
  if (!armed_) arm(ring);
  return armed_;
}

void Sleeper::arm(RingReceiver& ring) {
  ring.repair();
  // Either we see what a sender puts there, or it sees that we wait: the two stores and the two
  // loads are in one order.
  waiting_->store(1, std::memory_order_seq_cst);
  armed_ = true;
  if (!ring.empty()) disarm();
}

void Sleeper::disarm() {
  if (!armed_) return;
  armed_ = false;
  if (waiting_->exchange(0, std::memory_order_acq_rel) == 0) ++owed_;
  silence();
}

// Takes what was rung, so that the descriptor is no longer readable. Who is just ringing will have
// written its byte by the next time. No byte more than is owed: one more would be of a sender that
// rings at this moment, for a frame that we have not looked for.
void Sleeper::silence() {
  std::array<char, 64> bytes;
  while (owed_ > 0 && bell_.valid()) {
    const ssize_t n = ::read(bell_.get(), bytes.data(), std::min(owed_, bytes.size()));
    if (n <= 0) return;
    owed_ -= static_cast<std::size_t>(n);
  }
}

void Bells::ring(std::size_t port) {
  Word<std::uint32_t>& waiting = segment_->record(port).waiting;
  if (waiting.load(std::memory_order_seq_cst) == 0) return;
  if (!bells_[port].valid()) bells_[port] = segment_->open_bell(port, false);
  if (!bells_[port].valid() || waiting.exchange(0, std::memory_order_acq_rel) == 0) return;
  // A FIFO too full for one more byte wakes its reader as well.
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(bells_[port].get(), &byte, 1);
}

}  // namespace softrnic::link::shm
