// SPDX-License-Identifier: BSD-3-Clause
// A cable between two NICs that run in threads of their own: frames cross under a lock.
#pragma once

#include <memory>
#include <utility>

#include "link/link.hpp"

namespace softrnic::soak {

class ThreadedPort : public link::Link {
 public:
  // Waits until a frame is there or `patience` is over.
  virtual void wait(wire::Duration patience) = 0;
};

// Both ends of a cable that holds `ring` frames each way and drops the rest.
std::pair<std::unique_ptr<ThreadedPort>, std::unique_ptr<ThreadedPort>> make_threaded_wire(
    std::uint32_t mtu, std::size_t ring);

}  // namespace softrnic::soak
