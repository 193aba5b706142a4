// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous events of a context (ibv_get_async_event): a queue behind a descriptor.
//
// An object is not destroyed before each of its events that the program took has been acknowledged;
// those it has not taken vanish with it.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <mutex>

#include "verbs/event_descriptor.hpp"

namespace softrnic::verbs {

class AsyncEventQueue {
 public:
  int descriptor() const { return descriptor_.get(); }
  bool valid() const { return descriptor_.valid(); }

  void push(const ibv_async_event& event);
  // Waits for one unless the descriptor is non-blocking; false, with errno, when there is none. The
  // object's `taken` is counted with the queue held.
  bool take(ibv_async_event& event);
  // The object is about to go; `element` is its address.
  void forget(const void* element);

 private:
  std::mutex mutex_;
  std::deque<ibv_async_event> events_;
  EventDescriptor descriptor_;
};

// Waits until the program has acknowledged `taken` events. The count `completed` is the object's,
// under its mutex.
void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition,
                               const std::uint32_t& completed, std::uint32_t taken);

}  // namespace softrnic::verbs
