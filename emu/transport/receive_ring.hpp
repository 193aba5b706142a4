// SPDX-License-Identifier: BSD-3-Clause
// Posted receives, oldest first, in a ring with room for their scatter lists: what a queue pair's
// own receive queue and a shared one have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/work_request.hpp"

namespace softrnic::transport {

struct ReceiveEntry {
  std::uint64_t id = 0;
  std::span<const Sge> sges;  // in the ring's own storage
  std::uint64_t length = 0;
};

class ReceiveRing {
 public:
  ReceiveRing(std::uint32_t capacity, std::uint32_t max_sges);

  // Copies the list.
  std::optional<PostError> push(const ReceiveRequest& request);
  void pop();
  void clear() { head_ = size_ = 0; }
  // Makes room for another number of receives; those that wait keep their order. False, and nothing
  // changes, when more wait than would fit.
  bool resize(std::uint32_t capacity);

  std::uint32_t size() const { return size_; }
  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t max_sges() const { return max_sges_; }
  // The oldest; there must be one.
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
