// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs, plain and extended: one object serves both.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <mutex>

#include "verbs/context.hpp"
#include "verbs/request_batch.hpp"

namespace softrnic::verbs {

// What later versions of the structure have behind ours, for programs that were built for them.
struct LaterQueuePairFields {
  void (*wr_flush)(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr, std::size_t len,
                   std::uint8_t type, std::uint8_t level) = nullptr;
  void* unknown[8] = {};
};

struct QueuePair : ibv_qp_ex {
  LaterQueuePairFields later;

  static QueuePair& of(ibv_qp* qp) {
    return *static_cast<QueuePair*>(reinterpret_cast<ibv_qp_ex*>(qp));
  }
  static QueuePair& of(ibv_qp_ex* qp) { return *static_cast<QueuePair*>(qp); }
  ibv_qp* plain() { return &qp_base; }
  Context& its_context() const { return Context::of(qp_base.context); }
  std::uint32_t number() const { return qp_base.qp_num; }

  bool signals_all = false;        // sq_sig_all
  bool is_opened = false;          // ibv_open_qp: another handle of an XRC target
  std::uint32_t inline_bytes = 0;  // a send request may have
  std::uint32_t events_taken = 0;  // under `mutex`
  std::uint32_t groups = 0;        // attached to
  XrcDomain* xrc_domain = nullptr;
  RequestBatch batch;  // of the extended interface: what wr_complete() will post
};

// Gives the extended functions to a new queue pair.
void set_extended_functions(QueuePair& queue_pair);

}  // namespace softrnic::verbs
