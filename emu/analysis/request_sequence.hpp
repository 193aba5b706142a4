// SPDX-License-Identifier: BSD-3-Clause
// The order of requests: what the PSN of a request packet says about it (IBTA vol. 1, 9.7.2,
// 9.7.3 and 9.7.5): in order, after a gap, late, doubled, or sent again, and why.
//
// The capture may stand anywhere between the two sides. What was lost before it shows as a gap;
// what was lost behind it shows as a repetition without a gap.
#pragma once

#include "analysis/ledger.hpp"
#include "analysis/number_space.hpp"

namespace softrnic::analysis {

// PSNs that a request takes: a READ takes one for each packet of its response.
std::uint32_t psns_of_read(std::uint32_t length, std::uint32_t path_mtu);

class RequestSequence {
 public:
  RequestSequence(NumberSpace& numbers, bool reliable) : n_(numbers), reliable_(reliable) {}

  // True when the message that begins here belongs to a new connection of the same numbers.
  bool restarts(const Observation& o) const;

  struct Place {
    SentPacket* packet = nullptr;  // null for a READ asked again from its middle
    bool first_seen = false;       // no good packet with this PSN was seen before
    bool in_order = false;         // and the one before it is the packet sent before
  };
  Place place(Observation& o);

  // A packet with a wrong ICRC: only where it stood is remembered.
  void place_spoilt(Observation& o);

 private:
  void begin(wire::Psn psn);
  void find_gap(Observation& o, wire::Psn expected);
  std::uint32_t psn_count(const Observation& o) const;
  void settle_read_by_next(Observation& o);
  Place advance(Observation& o, std::uint32_t count);
  Place go_back(Observation& o, SentPacket& packet);
  void repeat_forgotten(Observation& o, std::uint32_t count);
  Place doubled(Observation& o, SentPacket& packet);
  Place fill(Observation& o, SentPacket* spoilt, std::uint32_t count);
  ReadRequest* resumed(const Observation& o) const;
  Place resume_read(Observation& o, ReadRequest& read);
  bool is_same(const Observation& o, const SentPacket& packet) const;
  bool is_duplicate(const Observation& o, const SentPacket& packet) const;
  bool is_all_missing(wire::Psn from, wire::Psn to) const;
  Cause* find_cause(const Observation& o, bool seen) const;
  Cause implied_by_response(const Observation& o, wire::Psn psn) const;
  bool is_in_run(const Observation& o, const SentPacket* packet) const;
  void begin_run(Observation& o, const Cause& cause, std::uint32_t count, bool resumes = false);
  void follow_run(Observation& o, std::uint32_t count);
  void say_why(Observation& o, SentPacket& packet, bool captured);
  void check_retries(Observation& o, const SentPacket& packet);
  void receive(Observation& o, std::uint32_t count);
  SentPacket& remember(Observation& o, std::uint32_t count);
  void lower_base(wire::Psn psn);

  NumberSpace& n_;
  bool reliable_;
};

// The READ or atomic that a response PSN belongs to, or null.
ReadRequest* find_read(NumberSpace& n, wire::Psn psn);

// Says how many PSNs the newest READ takes, once the path MTU or its end is known.
void settle_read(NumberSpace& n, std::uint32_t psn_count, Ledger& ledger);

}  // namespace softrnic::analysis
