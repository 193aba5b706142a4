// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_buffers.hpp"

#include <algorithm>

namespace softrnic::link::shm {

Buffers::Buffers(Port& port) : lent_(&port.area().lent), bases_(port.buffers()) {
  const Segment& segment = port.segment();
  borrowers_.reserve(kPorts);
  for (std::uint32_t i = 0; i < bases_.size(); ++i) {
    bases_[i] = segment.buffer(port.index(), i);
    const std::uint32_t token = (*lent_)[i].load(std::memory_order_acquire);
    const std::size_t borrower = borrower_of(token);
    const bool with_somebody =
        token != 0 && borrower < kPorts && borrower != port.index() &&
        token == loan_token(borrower, segment.record(borrower).generation.load()) &&
        segment.record(borrower).state.load() == static_cast<std::uint32_t>(PortState::attached);
    if (with_somebody) {
      append(i, borrower, {});
    } else {
      (*lent_)[i].store(0, std::memory_order_relaxed);
      set_free(i);
    }
  }
}

std::optional<std::uint32_t> Buffers::take() {
  if (free_count_ == 0) return std::nullopt;
  const std::uint32_t buffer = free_[free_first_];
  free_first_ = (free_first_ + 1) % kMaxBuffers;
  --free_count_;
  return buffer;
}

void Buffers::lend(std::uint32_t buffer, std::size_t port, std::uint32_t token, wire::Instant now) {
  (*lent_)[buffer].store(token, std::memory_order_relaxed);  // the ring's word publishes it
  append(buffer, port, now);
}

void Buffers::append(std::uint32_t buffer, std::size_t port, wire::Instant now) {
  Loans& loans = loans_[port];
  const auto number = static_cast<std::uint16_t>(buffer);
  next_[buffer] = kNone;
  if (loans.count++ == 0) {
    loans.first = number;
    loans.last_return = now;
    borrowers_.push_back(static_cast<std::uint8_t>(port));
  } else {
    next_[loans.last] = number;
  }
  loans.last = number;
  ++lent_count_;
}

void Buffers::collect(wire::Instant now) {
  for (std::size_t i = borrowers_.size(); i-- > 0;) {
    Loans& loans = loans_[borrowers_[i]];
    const std::uint16_t before = loans.count;
    while (loans.count > 0 && (*lent_)[loans.first].load(std::memory_order_acquire) == 0) {
      set_free(loans.first);
      loans.first = next_[loans.first];
      --loans.count;
    }
    if (loans.count != before) loans.last_return = now;
    lent_count_ -= before - loans.count;
    if (loans.count == 0) {
      borrowers_[i] = borrowers_.back();
      borrowers_.pop_back();
    }
  }
}

}  // namespace softrnic::link::shm
