// SPDX-License-Identifier: BSD-3-Clause
// Which links this machine and user can open, found by trying each.
#pragma once

#include <string>
#include <vector>

namespace softrnic::tools {

struct LinkProbe {
  std::string kind;  // "shm", "udp", "tap", "packet", "xdp"
  bool usable = false;
  std::string reason;  // why not, and what to do about it
};

// Makes a TAP interface for a moment, if it may, and tries the others on it; without one they are
// tried on an Ethernet interface of this machine. Leaves nothing behind.
std::vector<LinkProbe> probe_links();

}  // namespace softrnic::tools
