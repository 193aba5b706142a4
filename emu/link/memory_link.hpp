// SPDX-License-Identifier: BSD-3-Clause
// An Ethernet segment inside the process, with any number of ports.
//
// It forwards by destination MAC address, learns sources, floods groups and unknown addresses, and
// keeps order. Single-threaded: all ports belong to one thread (virtual-time tests, demo, replay).
#pragma once

#include <memory>

#include "link/link.hpp"

namespace softrnic::link {

class MemoryWire {
 public:
  // `ring`: frames a port holds before it drops.
  explicit MemoryWire(std::uint32_t mtu = 9000, std::size_t ring = 1024);
  ~MemoryWire();

  // A new port. It must not outlive the wire.
  std::unique_ptr<Link> attach(std::string name);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::link
