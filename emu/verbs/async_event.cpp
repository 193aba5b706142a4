// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/async_event.hpp"

#include <algorithm>

#include "verbs/completion_queue.hpp"
#include "verbs/context.hpp"
#include "verbs/queue_pair.hpp"
#include "verbs/shared_receive_queue.hpp"

namespace softrnic::verbs {
namespace {

// All members of the union are pointers, or of no object at all.
const void* element_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return event.element.srq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp;
    default:
      return nullptr;
  }
}

// The object's own count of events that the program has taken.
std::uint32_t* taken_of(const ibv_async_event& event) {
  const void* element = element_of(event);
  if (element == nullptr) return nullptr;
  if (event.event_type == IBV_EVENT_CQ_ERR) {
    return &CompletionQueue::of(event.element.cq).async_events_taken;
  }
  if (element == event.element.srq &&
      (event.event_type == IBV_EVENT_SRQ_ERR || event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)) {
    return &SharedReceiveQueue::of(event.element.srq).events_taken;
  }
  return &QueuePair::of(event.element.qp).events_taken;
}

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& condition, std::uint32_t& completed) {
  pthread_mutex_lock(&mutex);
  ++completed;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}

}  // namespace

void AsyncEventQueue::push(const ibv_async_event& event) {
  {
    const std::lock_guard guard(mutex_);
    events_.push_back(event);
  }
  descriptor_.signal();
}

bool AsyncEventQueue::take(ibv_async_event& event) {
  for (;;) {
    if (!descriptor_.take()) return false;
    const std::lock_guard guard(mutex_);
    // None when its object went meanwhile.
    if (events_.empty()) continue;
    event = events_.front();
    events_.pop_front();
    if (std::uint32_t* taken = taken_of(event)) ++*taken;
    return true;
  }
}

void AsyncEventQueue::forget(const void* element) {
  const std::lock_guard guard(mutex_);
  std::erase_if(events_,
                [element](const ibv_async_event& event) { return element_of(event) == element; });
}

void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition,
                               const std::uint32_t& completed, std::uint32_t taken) {
  pthread_mutex_lock(&mutex);
  while (completed != taken) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

void Adapter::tell_events() {
  while (const auto event = nic_->events().poll()) {
    ibv_async_event told{};
    // The types are numbered alike.
    told.event_type = static_cast<ibv_event_type>(event->event);
    switch (transport::object_of(event->event)) {
      case transport::EventObject::completion_queue: {
        const auto found = completion_queues.find(event->number);
        if (found == completion_queues.end()) break;
        told.element.cq = found->second->plain();
        found->second->its_context().async_events.push(told);
        break;
      }
      case transport::EventObject::queue_pair: {
        const auto found = queue_pairs.find(event->number);
        if (found == queue_pairs.end()) break;
        told.element.qp = found->second->plain();
        found->second->its_context().async_events.push(told);
        break;
      }
      case transport::EventObject::shared_receive_queue: {
        const auto found = shared_receive_queues.find(event->number);
        if (found == shared_receive_queues.end()) break;
        told.element.srq = found->second;
        Context::of(found->second->context).async_events.push(told);
        break;
      }
    }
  }
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" {

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return Context::of(context).async_events.take(*event) ? 0 : -1;
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq& cq = *event->element.cq;
      acknowledge(cq.mutex, cq.cond, cq.async_events_completed);
      break;
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq& srq = *event->element.srq;
      acknowledge(srq.mutex, srq.cond, srq.events_completed);
      break;
    }
    default: {
      if (element_of(*event) == nullptr) break;
      ibv_qp& qp = *event->element.qp;
      acknowledge(qp.mutex, qp.cond, qp.events_completed);
    }
  }
}

}  // extern "C"
