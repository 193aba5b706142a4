// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C, SIGTERM and SIGHUP end an event loop instead of the process, so that captures are closed
// and interfaces removed.
#pragma once

#include "nic/event_loop.hpp"

namespace softrnic::tools {

// From here on a reader of our output that has gone shows as a failed write, not as a dead process.
void survive_broken_pipes();

// From here on such a signal is noted instead of ending the process. Called when there is something
// to leave clean; calling it again does nothing.
void catch_interruptions();

// While it lives, such a signal interrupts `loop`; one that came before interrupts it at once.
// They nest: the loop of the one outside is interrupted when its turn comes again.
class Interruption {
 public:
  explicit Interruption(nic::EventLoop& loop);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  nic::EventLoop* outer_;
};

// Whether such a signal has come.
bool interrupted();

}  // namespace softrnic::tools
