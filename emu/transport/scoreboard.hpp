// SPDX-License-Identifier: BSD-3-Clause
// What a requester with selective repeat knows of each packet it has sent and that is not yet
// acknowledged: whether the peer has it, and whether it must be taken for lost
// (docs/selective-repeat.md; the word is RFC 6675's).
//
// Every packet sent gets a number of its own, also when it is sent again. The network keeps order,
// mostly: when the peer has a packet, what was sent before it and has not arrived is lost (RFC
// 8985 in its simplest form).
#pragma once

#include <cstdint>
#include <memory>

#include "wire/psn.hpp"

namespace softrnic::transport {

class Scoreboard {
 public:
  // Room is made when the first packet is sent; without memory for it everything counts as lost
  // that is not acknowledged.
  void enable() { enabled_ = true; }
  bool enabled() const { return enabled_; }
  void disable() { *this = {}; }

  // A packet leaves. `counts`: it is one of those the window counts.
  void sent(wire::Psn psn, bool counts);
  // The peer has it, though not what came before.
  void received(wire::Psn psn);
  // The peer says that it does not have it, whatever it said before.
  void lose(wire::Psn psn);
  // Everything sent so far and not received is lost.
  void lose_all();
  // The peer is not to be believed any more.
  void forget_received();
  // Takes what is known from received() into account; true when packets may be lost that were not
  // before.
  bool find_losses();
  // Everything in [from, end) is acknowledged.
  void acknowledged(wire::Psn from, wire::Psn end);

  bool is_lost(wire::Psn psn) const;
  // Lost by lose() or lose_all(), not by the order of arrivals.
  bool is_abandoned(wire::Psn psn) const;
  // Packets that the window counts and the peer has.
  std::uint32_t held() const { return held_; }

 private:
  struct Record {
    wire::Psn psn;
    bool counts = false;
    bool repeated = false;
    bool received = false;
    std::uint64_t serial = 0;  // zero: none, or lost
  };
  // A power of two, and more than the peer keeps. Of what lies further ahead, older records are
  // overwritten, and those packets count as lost when in doubt.
  static constexpr std::uint32_t kRecords = 512;

  Record& record(wire::Psn psn) { return records_[psn.value() % kRecords]; }
  const Record& record(wire::Psn psn) const { return records_[psn.value() % kRecords]; }
  bool knows(wire::Psn psn) const {
    return records_ && record(psn).serial != 0 && record(psn).psn == psn;
  }
  void release(Record& record);

  bool enabled_ = false;
  std::unique_ptr<Record[]> records_;   // kRecords of them
  std::uint64_t serial_ = 0;            // of the packet sent last
  std::uint64_t newest_received_ = 0;   // among those sent once
  std::uint64_t lost_before_ = 0;       // what was sent before and has not been received is lost
  std::uint64_t abandoned_before_ = 0;  // the same, by order of lose_all()
  bool threshold_received_ = false;     // the peer has the packet of number lost_before_
  std::uint32_t held_ = 0;
};

}  // namespace softrnic::transport
