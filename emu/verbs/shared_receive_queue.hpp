// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues, basic ones and those of an XRC domain.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "transport/shared_receive_queue.hpp"
#include "verbs/completion_queue.hpp"
#include "verbs/context.hpp"

namespace softrnic::verbs {

struct SharedReceiveQueue : ibv_srq {
  static SharedReceiveQueue& of(ibv_srq* srq) { return *static_cast<SharedReceiveQueue*>(srq); }

  transport::SharedReceiveQueue* queue = nullptr;
  std::uint32_t events_taken = 0;  // under `mutex`
  XrcDomain* xrc_domain = nullptr;
  CompletionQueue* completions = nullptr;  // of an XRC domain's
};

}  // namespace softrnic::verbs
