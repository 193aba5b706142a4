// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_sleeper.hpp"

#include <unistd.h>

namespace softrnic::link::shm {

Sleeper::Sleeper(Port& port)
    : waiting_(&port.record().waiting), bell_(port.segment().open_bell(port.index(), true)) {
  waiting_->store(0, std::memory_order_relaxed);
  silence();  // rung for who was here before us
}

void Sleeper::after_burst(wire::Instant now, std::size_t taken, RingReceiver& ring) {
  if (taken > 0) {
    disarm();
    quiet_since_ = now;
  } else if (armed_) {
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
  // If somebody is just ringing, the byte is taken when next we find nothing.
  if (waiting_->exchange(0, std::memory_order_acq_rel) == 0) silence();
}

// Takes what was rung, so that the descriptor is no longer readable.
void Sleeper::silence() {
  std::array<char, 64> bytes;
  while (bell_.valid() &&
         ::read(bell_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
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
