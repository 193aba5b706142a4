// SPDX-License-Identifier: BSD-3-Clause
// Receive queue: where a queue pair's receives come from (IBTA vol. 1, 10.2.4). Either they were
// posted to it, or it takes them over one by one from a shared receive queue, each when a message
// begins that fills it (10.2.9.2); from then on the receive is the queue pair's alone.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/queue_pair.hpp"
#include "transport/receive_ring.hpp"
#include "transport/shared_receive_queue.hpp"

namespace softrnic::transport {

class ReceiveQueue {
 public:
  explicit ReceiveQueue(const QueuePairContext& context);

  std::optional<PostError> push(const ReceiveRequest& request);
  // Whether there is a receive for a message that needs one; front() then.
  bool provide();
  const ReceiveEntry& front() const { return ring_.front(); }
  void pop() { ring_.pop(); }
  void clear() { ring_.clear(); }

  // Receives are posted here and nowhere else.
  bool takes_posts() const { return takes_posts_; }
  // Without those that wait in a shared receive queue.
  std::uint32_t size() const { return ring_.size(); }
  bool empty() const { return ring_.size() == 0; }

  // Whose memory the receives name, and where they complete.
  ProtectionDomain domain() const { return shared_ == nullptr ? domain_ : shared_->domain(); }
  CompletionSink& completions() const {
    return shared_ == nullptr || shared_->completions() == nullptr ? completions_
                                                                   : *shared_->completions();
  }

  // XRC targets: the queue that the present request names.
  void draw_from(SharedReceiveQueue& queue) { shared_ = &queue; }

 private:
  ProtectionDomain domain_;
  CompletionSink& completions_;
  bool takes_posts_;
  SharedReceiveQueue* shared_;
  ReceiveRing ring_;
};

}  // namespace softrnic::transport
