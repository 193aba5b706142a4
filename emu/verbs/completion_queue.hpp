// SPDX-License-Identifier: BSD-3-Clause
// Completion queues, plain and extended: one object serves both.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "nic/completion_queue.hpp"
#include "verbs/completion_channel.hpp"
#include "verbs/context.hpp"

namespace softrnic::verbs {

struct CompletionQueue : ibv_cq_ex {
  static CompletionQueue& of(ibv_cq* cq) {
    return *static_cast<CompletionQueue*>(reinterpret_cast<ibv_cq_ex*>(cq));
  }
  static CompletionQueue& of(ibv_cq_ex* cq) { return *static_cast<CompletionQueue*>(cq); }
  ibv_cq* plain() { return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(this)); }

  // Takes the oldest completions, having turned the crank if there were none. Without a Hold.
  std::size_t poll(std::span<transport::Completion> out);
  CompletionChannel* its_channel() const { return static_cast<CompletionChannel*>(channel); }
  Context& its_context() const { return Context::of(context); }

  nic::CompletionQueue* queue = nullptr;
  std::uint32_t empty_polls = 0;         // in a row; with a Hold
  std::uint32_t events_taken = 0;        // completion events, under `mutex`
  std::uint32_t async_events_taken = 0;  // under `mutex`
  ProtectionDomain* parent_domain = nullptr;
  // Of the extended interface: what start_poll() or next_poll() took, and whose it is until
  // end_poll().
  std::mutex polling;
  transport::Completion current;
};

// As ibv_wc says it.
ibv_wc_opcode opcode_of(const transport::Completion& completion);
unsigned flags_of(const transport::Completion& completion);
ibv_wc work_completion(const transport::Completion& completion);

}  // namespace softrnic::verbs
