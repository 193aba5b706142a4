// SPDX-License-Identifier: BSD-3-Clause
// Who sends what goes to a queue pair, as a NIC knows it: whom a fault rule is to answer.
#pragma once

#include <memory>

#include "fabric/fault_script.hpp"
#include "nic/nic.hpp"

namespace softrnic::tools {

// Asks `nic`, which is made after the link that asks, and outlives its frames.
fabric::ConnectedQueuePair connected_queue_pair(const std::unique_ptr<nic::Nic>& nic);

}  // namespace softrnic::tools
