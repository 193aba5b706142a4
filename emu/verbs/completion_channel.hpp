// SPDX-License-Identifier: BSD-3-Clause
// Completion channel: where armed completion queues tell that something has come in.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <mutex>

#include "verbs/event_descriptor.hpp"

namespace softrnic::verbs {

struct CompletionQueue;

struct CompletionChannel : ibv_comp_channel {
  static CompletionChannel& of(ibv_comp_channel* channel) {
    return *static_cast<CompletionChannel*>(channel);
  }

  void push(CompletionQueue& queue);
  // Waits for an event unless the descriptor is non-blocking; null, with errno, when there is none.
  CompletionQueue* take();
  // The queue is about to go, and what it told with it.
  void forget(const CompletionQueue& queue);

  EventDescriptor descriptor;

 private:
  std::mutex mutex_;
  std::deque<CompletionQueue*> events_;
};

}  // namespace softrnic::verbs
