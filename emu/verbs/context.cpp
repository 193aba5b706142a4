// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/context.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "verbs/address_handle.hpp"
#include "verbs/completion_queue.hpp"
#include "verbs/memory_region.hpp"
#include "verbs/protection_domain.hpp"
#include "verbs/queue_pair.hpp"
#include "verbs/shared_receive_queue.hpp"
#include "verbs/xrc_domain.hpp"

namespace softrnic::verbs {
namespace {

// Completions go wherever the program polls them; one vector says that there is no choice.
constexpr int kCompletionVectors = 1;

void set_functions(verbs_context& context) {
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.query_rt_values = query_rt_values;
  context.advise_mr = advise_mr;
  context.create_cq_ex = create_cq_ex;
  context.create_qp_ex = create_qp_ex;
  context.open_qp = open_qp;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_num;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  ibv_context_ops& ops = context.context.ops;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
}

// What the program left behind goes with the context; its structures are the program's to forget.
void give_up_all(Context& context, nic::Nic& nic) {
  for (QueuePair* qp : context.queue_pairs) {
    if (qp->is_opened) continue;
    context.adapter->queue_pairs.erase(qp->number());
    nic.destroy_queue_pair(qp->number());
  }
  for (SharedReceiveQueue* srq : context.shared_receive_queues) {
    context.adapter->shared_receive_queues.erase(srq->queue->number());
    nic.destroy_shared_receive_queue(*srq->queue);
  }
  for (CompletionQueue* cq : context.completion_queues) {
    context.adapter->completion_queues.erase(cq->queue->number());
    if (cq->queue->armed() != nic::CompletionQueue::Notify::no) --context.adapter->armed;
    nic.destroy_completion_queue(*cq->queue);
  }
  for (AddressHandle* ah : context.address_handles) nic.destroy_address_handle(ah->ibv_ah::handle);
  for (MemoryWindow* mw : context.windows) nic.memory().remove_window(mw->rkey);
  for (MemoryRegion* mr : context.regions) nic.memory().remove(mr->lkey);
  for (ProtectionDomain* pd : context.domains) {
    if (pd->stands_for == nullptr) nic.free_domain(pd->domain);
  }
}

}  // namespace

Context::Context(std::shared_ptr<Adapter> its_adapter)
    : verbs_context{}, adapter(std::move(its_adapter)) {
  set_functions(*this);
  this->sz = sizeof(verbs_context);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  // Programs duplicate it and look at its flags; there is no kernel behind it to speak to.
  context.cmd_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  context.async_fd = async_events.descriptor();
  context.num_comp_vectors = kCompletionVectors;
  pthread_mutex_init(&context.mutex, nullptr);
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" int ibv_close_device(ibv_context* handle) {
  Context& context = Context::of(handle);
  {
    Adapter::Hold hold(*context.adapter);
    give_up_all(context, *hold);
  }
  if (handle->cmd_fd >= 0) ::close(handle->cmd_fd);
  delete &context;
  return 0;
}
