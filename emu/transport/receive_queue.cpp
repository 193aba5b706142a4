// SPDX-License-Identifier: BSD-3-Clause
#include "transport/receive_queue.hpp"

#include <algorithm>

namespace softrnic::transport {

ReceiveQueue::ReceiveQueue(const QueuePairCapacity& capacity)
    : capacity_(capacity.receive_requests),
      max_sges_(capacity.receive_sges),
      ring_(capacity.receive_requests),
      sges_(std::size_t{capacity.receive_requests} * capacity.receive_sges) {}

std::optional<PostError> ReceiveQueue::push(const ReceiveRequest& request) {
  if (size_ == capacity_) return PostError::queue_full;
  if (request.sges.size() > max_sges_) return PostError::too_many_sges;
  const std::uint32_t at = (head_ + size_) % capacity_;
  Sge* const storage = sges_.data() + std::size_t{at} * max_sges_;
  std::copy(request.sges.begin(), request.sges.end(), storage);
  ReceiveEntry& entry = ring_[at];
  entry.id = request.id;
  entry.sges = {storage, request.sges.size()};
  entry.length = 0;
  for (const Sge& sge : request.sges) entry.length += sge.length;
  ++size_;
  return std::nullopt;
}

void ReceiveQueue::pop() {
  head_ = (head_ + 1) % capacity_;
  --size_;
}

}  // namespace softrnic::transport
