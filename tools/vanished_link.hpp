// SPDX-License-Identifier: BSD-3-Clause
// An interface deleted under its NIC (`ip link del`) ends a subcommand instead of leaving it to
// wait for frames that cannot come.
#pragma once

#include "failure.hpp"
#include "nic/nic.hpp"

namespace softrnic::tools {

// After an event loop has ended: a Failure when that was because the NIC's link is gone.
inline void require_link(nic::Nic& nic) {
  if (!nic.link().gone()) return;
  fail("{} is gone: the interface was deleted; make it again and start anew",
       nic.link().capabilities().name);
}

}  // namespace softrnic::tools
