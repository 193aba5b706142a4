// SPDX-License-Identifier: BSD-3-Clause
// When a requester with selective repeat asks again although the local ACK timer has not fired: the
// last packets of a transfer, and the last acknowledgement, have nothing behind them that would
// tell of their loss (RFC 8985, 7: tail loss probe).
//
// The wait is taken from the round trip, as measured on packets that ask for an acknowledgement and
// are sent once. A probe is none of the retries that the standard counts.
#pragma once

#include "wire/instant.hpp"
#include "wire/psn.hpp"

namespace softrnic::transport {

class LossProbe {
 public:
  // A packet that asks for an acknowledgement leaves for the first time.
  void measure(wire::Instant now, wire::Psn psn);
  // Everything before `unacked` is acknowledged.
  void acknowledged(wire::Instant now, wire::Psn unacked);
  // Packets are sent again, so that it is not known which copy is acknowledged.
  void forget_measurement() { measuring_ = false; }

  // Starts the wait afresh, if a round trip is known and the probes are not used up.
  void arm(wire::Instant now);
  void disarm() { deadline_ = wire::kNever; }
  // A probe was sent.
  void sent(wire::Instant now);

  wire::Instant deadline() const { return deadline_; }

 private:
  bool measuring_ = false;
  wire::Psn measured_psn_;
  wire::Instant measured_at_{};
  wire::Duration round_trip_{};  // smoothed; zero: not known
  int probes_ = 0;               // since something was acknowledged
  wire::Instant deadline_ = wire::kNever;
};

}  // namespace softrnic::transport
