// SPDX-License-Identifier: BSD-3-Clause
#include "nic/completion_queue.hpp"

#include <algorithm>

namespace softrnic::nic {

CompletionQueue::CompletionQueue(std::uint32_t depth, std::uint32_t number,
                                 transport::EventSink& events, const wire::Instant* clock)
    : number_(number), events_(events), clock_(clock), ring_(std::max<std::uint32_t>(depth, 1)) {}

std::size_t CompletionQueue::poll(std::span<transport::Completion> out) {
  const std::size_t n = std::min(out.size(), size_);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
  }
  size_ -= n;
  return n;
}

void CompletionQueue::forget(std::uint32_t qpn) {
  const auto at = [this](std::size_t index) -> transport::Completion& {
    return ring_[(head_ + index) % ring_.size()];
  };
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (at(i).qpn != qpn) at(kept++) = at(i);
  }
  size_ = kept;
}

bool CompletionQueue::resize(std::uint32_t depth) {
  if (size_ > depth) return false;
  std::vector<transport::Completion> ring(std::max<std::uint32_t>(depth, 1));
  const std::size_t held = size_;
  poll({ring.data(), held});
  ring_.swap(ring);
  head_ = 0;
  size_ = held;
  return true;
}

bool CompletionQueue::request_notification(Notify which) {
  armed_ = std::max(armed_, which);
  return size_ > 0;
}

bool CompletionQueue::complete(const transport::Completion& completion) {
  if (overrun_) return false;
  if (size_ == ring_.size()) {
    overrun_ = true;
    events_.raise(transport::AsyncEvent::completion_queue_error, number_);
    return false;
  }
  std::size_t at = head_ + size_;
  if (at >= ring_.size()) at -= ring_.size();
  ring_[at] = completion;
  if (clock_ != nullptr) ring_[at].at = *clock_;
  ++size_;
  if (armed_ != Notify::no) {
    const bool solicited =
        completion.solicited || completion.status != transport::CompletionStatus::success;
    if (armed_ == Notify::any || solicited) notify();
  }
  return true;
}

void CompletionQueue::notify() {
  armed_ = Notify::no;
  if (on_notification_) on_notification_();
}

}  // namespace softrnic::nic
