// SPDX-License-Identifier: BSD-3-Clause
// Which transitions a user may ask of a queue pair, and which attributes each requires and takes
// (IBTA vol. 1, 10.3.1, 11.2.5.3; the tables there are the one here).
#pragma once

#include <optional>

#include "transport/queue_pair_attributes.hpp"
#include "transport/queue_pair_type.hpp"

namespace softrnic::transport {

struct QueuePairTransition {
  AttributeMask required = 0;
  AttributeMask optional = 0;

  AttributeMask takes() const { return required | optional; }
  // Every attribute named is taken and every one required is named. attribute::state is never asked
  // for.
  bool accepts(AttributeMask named) const {
    return (named & required) == required && (named & ~(takes() | attribute::state)) == 0;
  }
};

// Nothing when the transition is illegal, or not one that a user makes: the queue pair itself goes
// to SQE or ERR when a request fails.
std::optional<QueuePairTransition> transition(QueuePairType type, QueuePairState from,
                                              QueuePairState to);

}  // namespace softrnic::transport
