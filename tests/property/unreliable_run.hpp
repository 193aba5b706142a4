// SPDX-License-Identifier: BSD-3-Clause
// Runs a plan of UC and UD queue pairs and judges the outcome: messages may be lost, never spoilt.
//
// A receive completes with one whole message that was sent, and with nothing else; a WRITE's
// target holds, packet by packet, the old bytes or the new; all requests complete, in order. As
// long as the wire itself neither doubles nor reorders frames, UC and UD deliver in order and at
// most once; on a wire without faults, with receives enough, everything arrives.
#pragma once

#include <cstdint>
#include <string>

#include "property/plan.hpp"

namespace softrnic::property {

struct UnreliableOutcome {
  std::string failure;  // empty when all is well
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

UnreliableOutcome run_unreliable(const Plan& plan);

}  // namespace softrnic::property
