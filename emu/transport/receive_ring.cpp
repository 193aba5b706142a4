// SPDX-License-Identifier: BSD-3-Clause
#include "transport/receive_ring.hpp"

#include <algorithm>

namespace softrnic::transport {

ReceiveRing::ReceiveRing(std::uint32_t capacity, std::uint32_t max_sges)
    : capacity_(capacity),
      max_sges_(max_sges),
      ring_(capacity),
      sges_(std::size_t{capacity} * max_sges) {}

std::optional<PostError> ReceiveRing::push(const ReceiveRequest& request) {
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

void ReceiveRing::pop() {
  head_ = (head_ + 1) % capacity_;
  --size_;
}

bool ReceiveRing::resize(std::uint32_t capacity) {
  if (size_ > capacity) return false;
  ReceiveRing other(capacity, max_sges_);
  while (size_ > 0) {
    other.push({front().id, front().sges});
    pop();
  }
  *this = std::move(other);
  return true;
}

}  // namespace softrnic::transport
