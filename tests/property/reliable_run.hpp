// SPDX-License-Identifier: BSD-3-Clause
// Runs a plan of RC connections and judges the outcome.
//
// At the end both users' memories equal the model byte for byte, every signaled request and every
// receive has completed exactly once and in order, nothing waits and nothing is lent. A connection
// may end in "retry exceeded" only when the faults hit it often enough for that to be the
// standard's outcome; then both its queue pairs must flush, in order and completely.
#pragma once

#include <cstdint>
#include <string>

#include "property/plan.hpp"

namespace softrnic::property {

struct Outcome {
  std::string failure;          // empty when all is well
  std::uint32_t exhausted = 0;  // connections that ended in "retry exceeded", rightly
  // How much happened.
  std::uint64_t packets = 0;
  std::uint64_t faults = 0;
  std::uint64_t retransmitted = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t rnr_naks = 0;
};

// `capture`: a file for everything on the wire, unless empty.
Outcome run_reliable(const Plan& plan, const std::string& capture = {});

}  // namespace softrnic::property
