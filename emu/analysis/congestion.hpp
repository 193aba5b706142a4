// SPDX-License-Identifier: BSD-3-Clause
// Congestion: marked packets, the notifications (CNPs) that answer them, and what the sender makes
// of those (RFC 3168; IBTA annex A17).
//
// How rates are measured: the bytes of payload of the last kWindow - 1 data packets before a CNP,
// over the time from the packet before them to the last one; and the same for the first kWindow
// data packets after it. Both must fit into kWindowTime before and after the CNP. CNPs that come
// before the second window is full belong to one burst: the first window stands before the first
// of them, the second after the last. The packet that fills the second window carries the finding,
// if the two rates differ by more than a quarter of the first.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "analysis/ledger.hpp"
#include "analysis/paged_array.hpp"

namespace softrnic::analysis {

class Congestion {
 public:
  static constexpr std::size_t kWindow = 16;
  static constexpr wire::Duration kWindowTime = std::chrono::milliseconds(100);

  // A packet that its receiver takes, and the number of its flow, which the caller keeps for it and
  // which is kNone at first. Costs nothing in a flow without ECN.
  void on_packet(Observation& o, std::uint32_t& flow);

  // A CNP, and the number of the flow it slows; null when it is not known which one that is.
  void on_cnp(Observation& o, std::uint32_t* flow);

  std::size_t memory() const;

 private:
  struct Sample {
    wire::Instant time;
    std::uint64_t bytes = 0;  // of the flow, this packet included
  };
  struct Flow {
    std::uint32_t marked_frame = 0;  // newest marked packet
    wire::Instant marked_time;
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;            // with payload
    std::array<Sample, kWindow> samples;  // of the newest packets; packet n lies at n % kWindow
    // The burst of CNPs that is looked at; 0: none.
    std::uint32_t cnp_frame = 0;
    wire::Instant cnp_time;  // of the newest one
    std::uint64_t packets_at_cnp = 0;
    std::uint64_t rate_before = 0;
  };
  // Who sends to whom: finds the flow of a CNP whose connection is not known.
  struct Place {
    wire::Gid source;
    wire::Gid destination;
    std::uint32_t source_qpn = 0;
    std::uint32_t flow = kNone;
  };
  static constexpr std::size_t kPlaces = 1024;

  Place& place(const wire::Gid& source, const wire::Gid& destination, std::uint32_t source_qpn);
  std::uint32_t find_flow(const Frame& cnp);
  void count_data(Observation& o, Flow& flow);
  // Bytes per second over the newest window; 0 when it is not full or not within kWindowTime
  // before, or after, the CNP.
  static std::uint64_t rate_until(const Flow& flow, wire::Instant cnp);
  static std::uint64_t rate_since(const Flow& flow, wire::Instant cnp);
  static std::uint64_t rate(const Sample& first, const Sample& last);

  PagedArray<Flow, 4> flows_;
  std::vector<Place> places_;
};

}  // namespace softrnic::analysis
