// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/context.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "verbs/address_handle.hpp"
#include "verbs/completion_queue.hpp"
#include "verbs/device_memory.hpp"
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
  context.alloc_dm = alloc_dm;
  context.free_dm = free_dm;
  context.reg_dm_mr = reg_dm_mr;
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
  for (const XrcDomain* xrcd : context.xrc_domains) let_go(context, *xrcd);
  for (MemoryWindow* mw : context.windows) nic.memory().remove_window(mw->rkey);
  for (MemoryRegion* mr : context.regions) {
    nic.memory().remove(mr->lkey);
    mr->device_memory.reset();
  }
  for (ProtectionDomain* pd : context.domains) {
    if (pd->stands_for == nullptr) nic.free_domain(pd->domain);
  }
  for (DeviceMemory* dm : context.device_memories) dm->block.reset();
}

// A descriptor that is this context's alone, whatever number it is duplicated to, so that whoever
// imports by it names the context. There is no kernel behind it to speak to.
int own_descriptor() {
  const int descriptor = memfd_create("softrnic", MFD_CLOEXEC);
  return descriptor >= 0 ? descriptor : ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

}  // namespace

Context::Context(std::shared_ptr<Adapter> its_adapter, Context* its_origin, int descriptor)
    : verbs_context{}, adapter(std::move(its_adapter)), origin(its_origin) {
  set_functions(*this);
  this->sz = sizeof(verbs_context);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.cmd_fd = descriptor >= 0 ? descriptor : own_descriptor();
  context.async_fd = async_events.descriptor();
  context.num_comp_vectors = kCompletionVectors;
  pthread_mutex_init(&context.mutex, nullptr);
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" int ibv_close_device(ibv_context* handle) {
  Context& context = Context::of(handle);
  // Kept until the NIC has been let go of: it may go with the last context.
  const std::shared_ptr<Adapter> adapter = context.adapter;
  std::array<Context*, 2> gone{&context, nullptr};
  {
    Adapter::Hold hold(*adapter);
    if (context.imports > 0) {
      context.closed = true;
      return 0;
    }
    if (context.origin != nullptr && --context.origin->imports == 0 && context.origin->closed) {
      gone[1] = context.origin;
    }
    for (Context* each : gone) {
      if (each == nullptr) continue;
      give_up_all(*each, *hold);
      adapter->contexts.erase(each);
    }
  }
  for (Context* each : gone) {
    if (each == nullptr) continue;
    if (each->context.cmd_fd >= 0) ::close(each->context.cmd_fd);
    delete each;
  }
  return 0;
}
