// SPDX-License-Identifier: BSD-3-Clause
#include "transport/receive_queue.hpp"

namespace softrnic::transport {
namespace {

// Room for the one receive that a message in progress fills.
ReceiveRing ring_of(const QueuePairContext& context) {
  if (context.type == QueuePairType::xrc_target) return {1, kMaxReceiveSges};
  if (context.shared_receive_queue != nullptr) {
    return {1, context.shared_receive_queue->capacity().sges};
  }
  return {context.capacity.receive_requests, context.capacity.receive_sges};
}

}  // namespace

ReceiveQueue::ReceiveQueue(const QueuePairContext& context)
    : domain_(context.domain),
      completions_(context.receive_completions),
      takes_posts_(context.shared_receive_queue == nullptr &&
                   context.type != QueuePairType::xrc_target),
      shared_(context.shared_receive_queue),
      ring_(ring_of(context)) {}

std::optional<PostError> ReceiveQueue::push(const ReceiveRequest& request) {
  if (!takes_posts_) return PostError::shared_receive_queue;
  return ring_.push(request);
}

bool ReceiveQueue::provide() {
  if (ring_.size() > 0) return true;
  const ReceiveEntry* next = shared_ == nullptr ? nullptr : shared_->front();
  if (next == nullptr || ring_.push({next->id, next->sges})) return false;
  shared_->pop();
  return true;
}

}  // namespace softrnic::transport
