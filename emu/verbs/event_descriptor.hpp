// SPDX-License-Identifier: BSD-3-Clause
// A descriptor that is readable as long as events wait: what programs hand to poll(2), or make
// non-blocking, before they ask for the next event.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "link/file_descriptor.hpp"

namespace softrnic::verbs {

class EventDescriptor {
 public:
  EventDescriptor() : file_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

  bool valid() const { return file_.valid(); }
  int get() const { return file_.get(); }

  // One event more.
  void signal() {
    const std::uint64_t one = 1;
    // Fails only after 2^64 - 2 events that nobody took.
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), &one, sizeof(one));
  }
  // One event less; waits for it unless the descriptor is non-blocking. False, with errno, when
  // there is none.
  bool take() {
    std::uint64_t one = 0;
    return ::read(file_.get(), &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one));
  }

 private:
  link::FileDescriptor file_;
};

}  // namespace softrnic::verbs
