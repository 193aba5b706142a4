// SPDX-License-Identifier: BSD-3-Clause
// XRC domain: the shared receive queues that its target queue pairs may reach, by their numbers
// (IBTA vol. 1, annex A14).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "transport/shared_receive_queue.hpp"

namespace softrnic::transport {

class XrcDomain {
 public:
  // The queue must be removed before it goes.
  void add(SharedReceiveQueue& queue) { queues_.emplace(queue.number(), &queue); }
  void remove(const SharedReceiveQueue& queue) { queues_.erase(queue.number()); }
  bool empty() const { return queues_.empty(); }

  // Null when no queue of this domain has the number.
  SharedReceiveQueue* find(std::uint32_t number) const {
    const auto found = queues_.find(number);
    return found == queues_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::uint32_t, SharedReceiveQueue*> queues_;
};

}  // namespace softrnic::transport
