// SPDX-License-Identifier: BSD-3-Clause
#include "transport/send_queue.hpp"

#include <algorithm>

#include "transport/retry_policy.hpp"

namespace softrnic::transport {

CompletionOperation completion_operation(SendOperation operation) {
  switch (operation) {
    case SendOperation::send:
    case SendOperation::send_with_immediate:
    case SendOperation::send_with_invalidate:
      return CompletionOperation::send;
    case SendOperation::rdma_write:
    case SendOperation::rdma_write_with_immediate:
      return CompletionOperation::rdma_write;
    case SendOperation::rdma_read:
      return CompletionOperation::rdma_read;
    case SendOperation::compare_swap:
      return CompletionOperation::compare_swap;
    case SendOperation::fetch_add:
      return CompletionOperation::fetch_add;
    case SendOperation::local_invalidate:
      return CompletionOperation::local_invalidate;
    case SendOperation::fast_register:
      return CompletionOperation::fast_register;
    case SendOperation::bind_window:
      return CompletionOperation::bind_window;
    case SendOperation::atomic_write:
      return CompletionOperation::atomic_write;
    case SendOperation::flush:
      return CompletionOperation::flush;
  }
  return CompletionOperation::send;
}

std::uint64_t length_of(const SendRequest& request) {
  std::uint64_t length = request.inline_data.size();
  for (const Sge& sge : request.sges) length += sge.length;
  return length;
}

namespace {

// An ATOMIC WRITE brings its eight bytes along, whatever its queue pair was made for: verbs have no
// other way to name them (ibv_wr_atomic_write).
constexpr std::uint32_t kAtomicWriteBytes = 8;

// What to register or bind is there.
bool has_operand(const SendRequest& request) {
  switch (request.operation) {
    case SendOperation::fast_register:
      return request.registration != nullptr;
    case SendOperation::bind_window:
      return request.binding != nullptr;
    default:
      return true;
  }
}

bool takes_inline(SendOperation operation) {
  switch (operation) {
    case SendOperation::send:
    case SendOperation::send_with_immediate:
    case SendOperation::send_with_invalidate:
    case SendOperation::rdma_write:
    case SendOperation::rdma_write_with_immediate:
    case SendOperation::atomic_write:
      return true;
    default:
      return false;
  }
}

}  // namespace

SendQueue::SendQueue(const QueuePairCapacity& capacity, std::uint64_t max_message)
    : capacity_(capacity.send_requests),
      max_sges_(capacity.send_sges),
      max_inline_(capacity.inline_bytes),
      max_message_(max_message),
      inline_room_(std::max(max_inline_, kAtomicWriteBytes)),
      ring_(capacity.send_requests),
      sges_(std::size_t{capacity.send_requests} * capacity.send_sges),
      inline_data_(std::size_t{capacity.send_requests} * inline_room_) {}

std::optional<PostError> SendQueue::push(const SendRequest& request) {
  if (size_ == capacity_) return PostError::queue_full;
  if (request.sges.size() > max_sges_) return PostError::too_many_sges;
  const bool is_inline = !request.inline_data.empty();
  const std::uint32_t most =
      request.operation == SendOperation::atomic_write ? inline_room_ : max_inline_;
  if (is_inline && (request.inline_data.size() > most || !request.sges.empty() ||
                    !takes_inline(request.operation))) {
    return PostError::bad_inline;
  }
  if (!has_operand(request)) return PostError::bad_operation;
  const std::uint64_t length = length_of(request);
  if (length > max_message_) return PostError::message_too_long;

  const std::uint32_t at = slot(size_);
  Sge* const storage = sges_.data() + std::size_t{at} * max_sges_;
  std::copy(request.sges.begin(), request.sges.end(), storage);
  ring_[at].renew(request, length);
  ring_[at].request.sges = {storage, request.sges.size()};
  if (is_inline) {
    std::byte* const bytes = inline_data_.data() + std::size_t{at} * inline_room_;
    std::copy(request.inline_data.begin(), request.inline_data.end(), bytes);
    ring_[at].request.inline_data = {bytes, request.inline_data.size()};
  }
  if (is_local(request.operation)) keep_operand(at, request);
  ++size_;
  return std::nullopt;
}

void SendQueue::keep_operand(std::uint32_t at, const SendRequest& request) {
  if (operands_.empty()) operands_.resize(capacity_);
  SendRequest& kept = ring_[at].request;
  if (request.operation == SendOperation::fast_register) {
    kept.registration = &operands_[at].emplace<FastRegistration>(*request.registration);
  } else if (request.operation == SendOperation::bind_window) {
    kept.binding = &operands_[at].emplace<WindowBinding>(*request.binding);
  }
}

void SendQueue::pop() {
  head_ = slot(1);
  --size_;
}

void SendQueue::clear() {
  head_ = size_ = 0;
}

}  // namespace softrnic::transport
