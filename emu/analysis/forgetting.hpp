// SPDX-License-Identifier: BSD-3-Clause
// Forgetting: which packets of which direction are let go, so that memory does not grow with the
// capture.
//
// Remembered are the newest `remembered` packets of all directions together, and besides them what
// may well be asked for whatever its age: in each direction the newest kLeast, the packet with the
// highest PSN, and everything that waits for its answer. The last are no more than `remembered`
// either; beyond that the oldest are let go, as there are captures that show no answers at all.
#pragma once

#include <cstdint>

#include "analysis/ledger.hpp"
#include "analysis/number_space.hpp"
#include "analysis/ring.hpp"
#include "analysis/stream_table.hpp"

namespace softrnic::analysis {

class Forgetting {
 public:
  static constexpr std::uint32_t kLeast = 1;
  // READs and atomics that may outlive the packet that asked for them, as the capture lacks an
  // answer.
  static constexpr std::size_t kMostReads = 256;
  // Packets kept as they wait for their answer, whatever `remembered` is.
  static constexpr std::uint32_t kMostOwed = 0xffff;

  Forgetting(std::uint32_t remembered, Ledger& ledger, StreamTable& streams)
      : remembered_(remembered), ledger_(ledger), streams_(streams) {}

  // The number space of a direction took a packet in, or made progress; nothing for kNone.
  void on_packet(std::uint32_t direction);

  // Of a number space that ends.
  void forget(NumberSpace& numbers);

  std::size_t memory() const { return order_.memory(); }

 private:
  void take_in(NumberSpace& numbers, std::uint32_t direction);
  void make_room();
  void fetch_ahead() const;
  void pay(const Direction& d, NumberSpace& numbers);
  void drop_sent(NumberSpace& numbers);
  static bool is_sent_needed(const Direction& d, NumberSpace& numbers);
  static bool is_response_needed(NumberSpace& numbers);

  std::uint32_t remembered_;
  Ledger& ledger_;
  StreamTable& streams_;
  Ring<std::uint32_t> order_;  // of what came: direction << 1 | whether it is a response
  std::uint32_t owed_ = 0;     // by all number spaces together
};

}  // namespace softrnic::analysis
