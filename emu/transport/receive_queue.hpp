// SPDX-License-Identifier: BSD-3-Clause
// Receive queue: posted receives, oldest first, in a ring made once (IBTA vol. 1, 10.2.4).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/queue_pair_attributes.hpp"
#include "transport/work_request.hpp"

namespace softrnic::transport {

struct ReceiveEntry {
  std::uint64_t id = 0;
  std::span<const Sge> sges;
  std::uint64_t length = 0;
};

class ReceiveQueue {
 public:
  explicit ReceiveQueue(const QueuePairCapacity& capacity);

  std::optional<PostError> push(const ReceiveRequest& request);
  void pop();
  void clear() { head_ = size_ = 0; }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  const ReceiveEntry& front() const { return ring_[head_]; }

 private:
  std::uint32_t capacity_;
  std::uint32_t max_sges_;
  std::vector<ReceiveEntry> ring_;
  std::vector<Sge> sges_;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace softrnic::transport
