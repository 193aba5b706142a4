// SPDX-License-Identifier: BSD-3-Clause
// A port's buffers, to its owner: which are free, and which are with a receiver.
//
// A lent buffer carries its borrower's token; the borrower clears it. Receivers give back in order,
// nearly, so the owner keeps a queue for each and looks at its front.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "link/shm_port.hpp"

namespace softrnic::link::shm {

class Buffers {
 public:
  // What the one before us at this port has lent stays lent until it is given back.
  explicit Buffers(Port& port);

  std::size_t size() const { return bases_.size(); }
  std::size_t available() const { return free_count_; }
  // Those that are with no receiver.
  std::size_t not_lent() const { return bases_.size() - lent_count_; }

  // One to fill and lend(); none when all are under way.
  std::optional<std::uint32_t> take();
  std::byte* base(std::uint32_t buffer) const { return bases_[buffer]; }

  // Marks it as borrowed by `port`, which may then learn of it.
  void lend(std::uint32_t buffer, std::size_t port, std::uint32_t token, wire::Instant now);
  // As if the borrower had given it back: it never learned of it.
  void recall(std::uint32_t buffer) { (*lent_)[buffer].store(0, std::memory_order_relaxed); }

  // Takes in what has been given back.
  void collect(wire::Instant now);

  std::size_t lent_to(std::size_t port) const { return loans_[port].count; }
  // When that port last gave something back, or was lent the first of what it has.
  wire::Instant last_return(std::size_t port) const { return loans_[port].last_return; }
  std::span<const std::uint8_t> borrowers() const { return borrowers_; }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  struct Loans {
    std::uint16_t first = kNone;
    std::uint16_t last = kNone;
    std::uint16_t count = 0;
    wire::Instant last_return{};
  };

  void append(std::uint32_t buffer, std::size_t port, wire::Instant now);
  void set_free(std::uint32_t buffer) {
    free_[(free_first_ + free_count_++) % kMaxBuffers] = static_cast<std::uint16_t>(buffer);
  }

  decltype(PortArea::lent)* lent_;
  std::vector<std::byte*> bases_;
  // First in, first out. What a receiver has just read is in its processor's nearest cache, from
  // where a line is dear to take; by the time all others were used it has sunk to the common one.
  std::array<std::uint16_t, kMaxBuffers> free_{};
  std::size_t free_first_ = 0;
  std::size_t free_count_ = 0;
  std::array<std::uint16_t, kMaxBuffers> next_{};
  std::array<Loans, kPorts> loans_;
  std::size_t lent_count_ = 0;
  std::vector<std::uint8_t> borrowers_;  // ports with loans
};

}  // namespace softrnic::link::shm
