// SPDX-License-Identifier: BSD-3-Clause
#include "nic/completion_queue.hpp"

#include <algorithm>

namespace softrnic::nic {

CompletionQueue::CompletionQueue(std::uint32_t depth) : ring_(std::max<std::uint32_t>(depth, 1)) {}

std::size_t CompletionQueue::poll(std::span<transport::Completion> out) {
  const std::size_t n = std::min(out.size(), size_);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
  }
  size_ -= n;
  return n;
}

bool CompletionQueue::complete(const transport::Completion& completion) {
  if (overrun_ || size_ == ring_.size()) {
    overrun_ = true;
    return false;
  }
  std::size_t at = head_ + size_;
  if (at >= ring_.size()) at -= ring_.size();
  ring_[at] = completion;
  ++size_;
  return true;
}

}  // namespace softrnic::nic
