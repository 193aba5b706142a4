// SPDX-License-Identifier: BSD-3-Clause
// The extended interface of queue pairs: ibv_wr_start() to ibv_wr_complete().
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "verbs/memory_region.hpp"
#include "verbs/queue_pair.hpp"
#include "verbs/receive_request.hpp"

namespace softrnic::verbs {
namespace {

using transport::SendOperation;
using transport::SendRequest;

SendRequest& add(ibv_qp_ex* qp, SendOperation operation) {
  QueuePair& its = QueuePair::of(qp);
  return its.batch.add(*qp, its.signals_all, operation);
}

SendRequest& add(ibv_qp_ex* qp, SendOperation operation, std::uint32_t key, std::uint64_t address) {
  SendRequest& request = add(qp, operation);
  request.remote_key = key;
  request.remote_address = address;
  return request;
}

void start(ibv_qp_ex* qp) {
  QueuePair::of(qp).batch.start();
}

void abandon(ibv_qp_ex* qp) {
  QueuePair::of(qp).batch.end();
}

int post(QueuePair& qp) {
  RequestBatch& batch = qp.batch;
  if (batch.error() != 0) return batch.error();
  Adapter::Hold hold(*qp.its_context().adapter);
  transport::QueuePair* queue_pair = hold->find_queue_pair(qp.number());
  if (queue_pair == nullptr) return EINVAL;
  // All or none: room is what can be known beforehand, and else nothing but a program's mistake
  // keeps a request out.
  if (queue_pair->send_queue_depth() + batch.size() > queue_pair->capacity().send_requests) {
    return ENOMEM;
  }
  int error = 0;
  for (std::size_t i = 0; i < batch.size() && error == 0; ++i) {
    const auto refused = hold->post_send(qp.number(), batch[i]);
    if (refused) error = error_number(*refused);
  }
  hold.ring_doorbell();
  return error;
}

int complete(ibv_qp_ex* qp) {
  QueuePair& its = QueuePair::of(qp);
  const int error = post(its);
  its.batch.end();
  return error;
}

void set_inline(ibv_qp_ex* qp, std::span<const ibv_data_buf> buffers) {
  QueuePair& its = QueuePair::of(qp);
  its.batch.set_inline(buffers, its.inline_bytes);
}

void bind(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info* info) {
  add(qp, SendOperation::bind_window);
  QueuePair::of(qp).batch.set_binding(binding_of(*mw, key, *info));
}

void flush(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::size_t length,
           std::uint8_t type, std::uint8_t level) {
  SendRequest& request = add(qp, SendOperation::flush, key, address);
  request.placement = type;  // numbered alike
  request.flush_all = level != 0;
  request.flush_length = length;
}

}  // namespace

void set_extended_functions(QueuePair& qp) {
  using Qp = ibv_qp_ex;
  qp.wr_start = start;
  qp.wr_complete = complete;
  qp.wr_abort = abandon;
  qp.wr_send = [](Qp* its) { add(its, SendOperation::send); };
  qp.wr_send_imm = [](Qp* its, __be32 immediate) {
    add(its, SendOperation::send_with_immediate).immediate = ntohl(immediate);
  };
  qp.wr_send_inv = [](Qp* its, std::uint32_t key) {
    add(its, SendOperation::send_with_invalidate).invalidate_key = key;
  };
  qp.wr_rdma_write = [](Qp* its, std::uint32_t key, std::uint64_t address) {
    add(its, SendOperation::rdma_write, key, address);
  };
  qp.wr_rdma_write_imm = [](Qp* its, std::uint32_t key, std::uint64_t address, __be32 immediate) {
    add(its, SendOperation::rdma_write_with_immediate, key, address).immediate = ntohl(immediate);
  };
  qp.wr_rdma_read = [](Qp* its, std::uint32_t key, std::uint64_t address) {
    add(its, SendOperation::rdma_read, key, address);
  };
  qp.wr_atomic_cmp_swp = [](Qp* its, std::uint32_t key, std::uint64_t address,
                            std::uint64_t compare, std::uint64_t swap) {
    SendRequest& request = add(its, SendOperation::compare_swap, key, address);
    request.compare = compare;
    request.swap_add = swap;
  };
  qp.wr_atomic_fetch_add = [](Qp* its, std::uint32_t key, std::uint64_t address,
                              std::uint64_t addend) {
    add(its, SendOperation::fetch_add, key, address).swap_add = addend;
  };
  qp.wr_atomic_write = [](Qp* its, std::uint32_t key, std::uint64_t address, const void* value) {
    add(its, SendOperation::atomic_write, key, address);
    // Eight bytes that travel with the request, whatever the queue pair's inline limit.
    const ibv_data_buf buffer{const_cast<void*>(value), sizeof(std::uint64_t)};
    QueuePair::of(its).batch.set_inline({&buffer, 1}, buffer.length);
  };
  qp.later.wr_flush = flush;
  qp.wr_local_inv = [](Qp* its, std::uint32_t key) {
    add(its, SendOperation::local_invalidate).invalidate_key = key;
  };
  qp.wr_bind_mw = bind;
  qp.wr_set_ud_addr = [](Qp* its, ibv_ah* ah, std::uint32_t number, std::uint32_t queue_key) {
    if (SendRequest* request = QueuePair::of(its).batch.current()) {
      request->address_handle = ah->handle;
      request->remote_qpn = number;
      request->remote_queue_key = queue_key;
    }
  };
  qp.wr_set_xrc_srqn = [](Qp* its, std::uint32_t number) {
    if (SendRequest* request = QueuePair::of(its).batch.current()) request->remote_srq = number;
  };
  qp.wr_set_sge = [](Qp* its, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
    const ibv_sge sge{address, length, key};
    QueuePair::of(its).batch.set_list({&sge, 1});
  };
  qp.wr_set_sge_list = [](Qp* its, std::size_t count, const ibv_sge* list) {
    QueuePair::of(its).batch.set_list({list, count});
  };
  qp.wr_set_inline_data = [](Qp* its, void* address, std::size_t length) {
    const ibv_data_buf buffer{address, length};
    set_inline(its, {&buffer, 1});
  };
  qp.wr_set_inline_data_list = [](Qp* its, std::size_t count, const ibv_data_buf* list) {
    set_inline(its, {list, count});
  };
}

}  // namespace softrnic::verbs
