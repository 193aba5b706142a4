// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C, SIGTERM and SIGHUP end an event loop instead of the process, so that captures are closed
// and interfaces removed.
#pragma once

#include "nic/event_loop.hpp"

namespace softrnic::tools {

// While it lives, such a signal interrupts `loop`; one that came before interrupts it at once.
// One at a time.
class Interruption {
 public:
  explicit Interruption(nic::EventLoop& loop);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
};

// Whether such a signal has come since the first Interruption was made.
bool interrupted();

}  // namespace softrnic::tools
