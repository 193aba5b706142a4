// SPDX-License-Identifier: BSD-3-Clause
// The points of a time-sequence graph in the manner of tcptrace: PSN over time, with marks where
// something was lost, refused or sent again.
//
// Bounded: when there are too many plain points every other one is left out, and from then on only
// every second, fourth, ... is taken. Marks have a room of their own, so that plain points never
// push them out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wire/instant.hpp"

namespace softrnic::explain {

enum class SequenceMark : std::uint8_t {
  request,         // plain: a request packet; psns tells how many a READ takes
  response,        // plain: a READ response or atomic answer
  ack,             // plain
  retransmission,  // sent, or asked for, again
  gap,             // packets are missing before this one
  late,            // out of order: it fills a gap without having been asked for
  duplicate,
  nak,
  rnr,
  ecn,
  cnp,
  bad_icrc,
};

std::string_view to_string(SequenceMark mark);

struct SequencePoint {
  wire::Instant at;
  std::int32_t psn = 0;  // relative to the first one of the requester's numbers
  std::uint32_t psns = 1;
  std::uint32_t frame = 0;
  std::uint8_t requester = 0;  // whose numbers: the side of the connection that asks
  SequenceMark mark = SequenceMark::request;
};

class SequenceGraph {
 public:
  static constexpr std::size_t kMostPlain = 1536;
  static constexpr std::size_t kMostMarks = 512;

  void add(const SequencePoint& point) {
    (point.mark <= SequenceMark::ack ? plain_ : marks_).add(point);
  }

  // All that are left, in the order of their frames.
  std::vector<SequencePoint> points() const;
  std::uint64_t left_out() const { return plain_.left_out() + marks_.left_out(); }

 private:
  // Every stride-th point, as many as there is room for.
  class Thinned {
   public:
    explicit Thinned(std::size_t most) : most_(most) {}

    void add(const SequencePoint& point) {
      if (seen_++ % stride_ != 0) return;
      if (points_.size() == most_) thin();
      if ((seen_ - 1) % stride_ == 0) points_.push_back(point);
    }
    const std::vector<SequencePoint>& points() const { return points_; }
    std::uint64_t left_out() const { return seen_ - points_.size(); }

   private:
    void thin();

    std::size_t most_;
    std::uint64_t seen_ = 0;
    std::uint64_t stride_ = 1;
    std::vector<SequencePoint> points_;
  };

  Thinned plain_{kMostPlain};
  Thinned marks_{kMostMarks};
};

}  // namespace softrnic::explain
