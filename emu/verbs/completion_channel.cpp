// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/completion_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "verbs/completion_queue.hpp"
#include "verbs/context.hpp"

namespace softrnic::verbs {

void CompletionChannel::push(CompletionQueue& queue) {
  {
    const std::lock_guard guard(mutex_);
    events_.push_back(&queue);
  }
  descriptor.signal();
}

CompletionQueue* CompletionChannel::take() {
  for (;;) {
    if (!descriptor.take()) return nullptr;
    const std::lock_guard guard(mutex_);
    // None when the queue that told it went meanwhile.
    if (events_.empty()) continue;
    CompletionQueue* queue = events_.front();
    events_.pop_front();
    ++queue->events_taken;
    return queue;
  }
}

void CompletionChannel::forget(const CompletionQueue& queue) {
  const std::lock_guard guard(mutex_);
  std::erase(events_, &queue);
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto channel = std::make_unique<CompletionChannel>();
  if (!channel->descriptor.valid()) return nullptr;
  channel->context = context;
  channel->fd = channel->descriptor.get();
  channel->refcnt = 0;
  return channel.release();
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  Context& context = Context::of(channel->context);
  const Adapter::Hold hold(*context.adapter);
  if (channel->refcnt > 0) return EBUSY;
  delete &CompletionChannel::of(channel);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  {
    Adapter::Hold hold(*Context::of(channel->context).adapter);
    hold.expect_wait();
  }
  CompletionQueue* queue = CompletionChannel::of(channel).take();
  if (queue == nullptr) return -1;
  *cq = queue->plain();
  *cq_context = queue->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int events) {
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += events;
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
