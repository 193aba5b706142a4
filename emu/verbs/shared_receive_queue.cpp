// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/shared_receive_queue.hpp"

#include <cerrno>
#include <memory>

#include "verbs/protection_domain.hpp"
#include "verbs/receive_request.hpp"
#include "verbs/xrc_domain.hpp"

namespace softrnic::verbs {
namespace {

ibv_srq* create(Context& context, void* srq_context, ibv_srq_attr& wanted, ProtectionDomain& pd,
                XrcDomain* xrc_domain, CompletionQueue* completions) {
  auto made = std::make_unique<SharedReceiveQueue>();
  Adapter::Hold hold(*context.adapter);
  nic::SharedReceiveQueueInit init;
  init.domain = pd.domain;
  init.capacity = {wanted.max_wr, wanted.max_sge};
  if (xrc_domain != nullptr) {
    init.xrc_domain = xrc_domain->domain;
    init.completions = completions->queue;
  }
  auto queue = hold->create_shared_receive_queue(init);
  if (!queue) {
    errno = nic::error_number(queue.error());
    return nullptr;
  }
  SharedReceiveQueue& srq = *made;
  srq.queue = *queue;
  srq.context = context.handle();
  srq.srq_context = srq_context;
  srq.pd = &pd;
  srq.handle = context.next_handle();
  srq.events_completed = 0;
  pthread_mutex_init(&srq.mutex, nullptr);
  pthread_cond_init(&srq.cond, nullptr);
  srq.xrc_domain = xrc_domain;
  srq.completions = completions;
  if (xrc_domain != nullptr) ++xrc_domain->users;
  // What it really has, and the limit is for ibv_modify_srq alone (11.2.3.1).
  wanted.max_wr = srq.queue->capacity().requests;
  wanted.max_sge = srq.queue->capacity().sges;
  context.adapter->shared_receive_queues.emplace(srq.queue->number(), &srq);
  context.shared_receive_queues.insert(&srq);
  return made.release();
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init) {
  constexpr std::uint32_t kMasks =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  const auto has = [init](std::uint32_t mask) { return (init->comp_mask & mask) == mask; };
  const ibv_srq_type type = has(IBV_SRQ_INIT_ATTR_TYPE) ? init->srq_type : IBV_SRQT_BASIC;
  if ((init->comp_mask & ~kMasks) != 0 || type == IBV_SRQT_TM) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const bool extended = type == IBV_SRQT_XRC;
  if ((type != IBV_SRQT_BASIC && !extended) || !has(IBV_SRQ_INIT_ATTR_PD) || init->pd == nullptr ||
      (extended && (!has(IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ) || init->xrcd == nullptr ||
                    init->cq == nullptr))) {
    errno = EINVAL;
    return nullptr;
  }
  return create(Context::of(context), init->srq_context, init->attr, ProtectionDomain::of(init->pd),
                extended ? &XrcDomain::of(init->xrcd) : nullptr,
                extended ? &CompletionQueue::of(init->cq) : nullptr);
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  SharedReceiveQueue& its = SharedReceiveQueue::of(srq);
  if (its.xrc_domain == nullptr) return EINVAL;
  *number = its.queue->number();
  return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad) {
  SharedReceiveQueue& its = SharedReceiveQueue::of(srq);
  Adapter::Hold hold(*Context::of(srq->context).adapter);
  for (; request != nullptr; request = request->next) {
    const auto error = with_receive(*request, [&its](const transport::ReceiveRequest& receive) {
      return its.queue->post(receive);
    });
    if (error == 0) continue;
    *bad = request;
    return error;
  }
  return 0;
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  return create(Context::of(pd->context), init->srq_context, init->attr, ProtectionDomain::of(pd),
                nullptr, nullptr);
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  const auto named = static_cast<unsigned>(mask);
  if ((named & ~static_cast<unsigned>(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  SharedReceiveQueue& its = SharedReceiveQueue::of(srq);
  Adapter::Hold hold(*Context::of(srq->context).adapter);
  if ((named & IBV_SRQ_MAX_WR) != 0) {
    const auto error = hold->resize_shared_receive_queue(*its.queue, attributes->max_wr);
    if (error) return nic::error_number(*error);
  }
  if ((named & IBV_SRQ_LIMIT) != 0 && !its.queue->arm(attributes->srq_limit)) return EINVAL;
  return 0;
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  SharedReceiveQueue& its = SharedReceiveQueue::of(srq);
  const Adapter::Hold hold(*Context::of(srq->context).adapter);
  attributes->max_wr = its.queue->capacity().requests;
  attributes->max_sge = its.queue->capacity().sges;
  attributes->srq_limit = its.queue->limit();
  return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
  SharedReceiveQueue& its = SharedReceiveQueue::of(srq);
  Context& context = Context::of(srq->context);
  {
    Adapter::Hold hold(*context.adapter);
    const std::uint32_t number = its.queue->number();
    if (const auto error = hold->destroy_shared_receive_queue(*its.queue)) {
      return nic::error_number(*error);
    }
    context.adapter->shared_receive_queues.erase(number);
    context.shared_receive_queues.erase(&its);
    if (its.xrc_domain != nullptr) --its.xrc_domain->users;
  }
  context.async_events.forget(srq);
  wait_for_acknowledgements(srq->mutex, srq->cond, srq->events_completed, its.events_taken);
  delete &its;
  return 0;
}

}  // extern "C"
