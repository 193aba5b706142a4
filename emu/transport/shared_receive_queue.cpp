// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared_receive_queue.hpp"

namespace softrnic::transport {

SharedReceiveQueue::SharedReceiveQueue(const SharedReceiveQueueContext& context)
    : context_(context), ring_(context.capacity.requests, context.capacity.sges) {}

bool SharedReceiveQueue::resize(std::uint32_t requests) {
  if (!ring_.resize(requests)) return false;
  context_.capacity.requests = requests;
  return true;
}

bool SharedReceiveQueue::arm(std::uint32_t limit) {
  if (limit > ring_.capacity()) return false;
  limit_ = limit;
  check_limit();
  return true;
}

void SharedReceiveQueue::pop() {
  ring_.pop();
  check_limit();
}

void SharedReceiveQueue::check_limit() {
  if (ring_.size() >= limit_) return;
  limit_ = 0;
  context_.events.raise(AsyncEvent::shared_receive_queue_limit, context_.number);
}

}  // namespace softrnic::transport
