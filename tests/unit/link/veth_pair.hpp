// SPDX-License-Identifier: BSD-3-Clause
// Two Ethernet interfaces joined to each other, and what arrives at a link on one of them.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "link/network_interface.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/network_namespace.hpp"

namespace softrnic::link::test {

// Until an interface that was just brought up is running, the kernel swallows what it is to send.
inline void wait_until_running(const std::string& name) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto interface = NetworkInterface::find(name);
  while (interface && !interface->running && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
    interface = NetworkInterface::find(name);
  }
  REQUIRE(interface);
  REQUIRE(interface->running);
  // The state shows a moment before it is in force; a setting waits for that.
  REQUIRE(interface->set_up(true) == 0);
}

// A veth pair without IPv6, so that only our frames are on it.
inline bool make_pair(const NetworkNamespace& space, const std::string& test, int mtu = 4200,
                      const std::string& queues = "") {
  std::string reason = space.why_not();
  if (reason.empty() &&
      !NetworkNamespace::ip("link add v0 " + queues + " type veth peer name v1 " + queues)) {
    reason = "cannot make a veth pair with `ip link`";
  }
  if (!reason.empty()) {
    skip(test, reason);
    return false;
  }
  for (const std::string name : {"v0", "v1"}) {
    REQUIRE(NetworkNamespace::ip("link set " + name + " addrgenmode none mtu " +
                                 std::to_string(mtu) + " up"));
  }
  for (const std::string name : {"v0", "v1"}) wait_until_running(name);
  return true;
}

// The frames that come before the last one sent, that one included.
inline Frames receive_count(Link& link, std::size_t count) {
  Frames all;
  while (all.size() < count && readable(link.descriptor())) {
    for (Bytes& frame : receive(link)) all.push_back(std::move(frame));
  }
  return all;
}

}  // namespace softrnic::link::test
