// SPDX-License-Identifier: BSD-3-Clause
// Send queue: posted requests, oldest first, in a ring made once (IBTA vol. 1, 10.2.4).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "transport/completion.hpp"
#include "transport/queue_pair_attributes.hpp"
#include "transport/retry_policy.hpp"
#include "transport/work_request.hpp"
#include "wire/psn.hpp"

namespace softrnic::transport {

struct SendEntry {
  SendRequest request;       // what it points to lies in the queue's own storage
  std::uint64_t length = 0;  // bytes of payload, sent or fetched

  // Set when the request is begun, that is, given its PSNs.
  wire::Psn first_psn;
  std::uint32_t packets = 0;   // PSNs it takes; for a READ, its response packets
  std::uint32_t received = 0;  // READ: response packets that have arrived
  // Not success: it cannot be sent and completes so once everything before it has completed.
  CompletionStatus failure = CompletionStatus::success;

  // A posted request that is not begun. All but the request is set anew.
  void renew(const SendRequest& posted, std::uint64_t its_length) {
    request = posted;
    length = its_length;
    first_psn = {};
    packets = received = 0;
    failure = CompletionStatus::success;
  }

  wire::Psn end_psn() const { return first_psn + packets; }
  bool is_write() const {
    return request.operation == SendOperation::rdma_write ||
           request.operation == SendOperation::rdma_write_with_immediate;
  }
  // Takes a receive of the peer's: every SEND, and a WRITE with immediate.
  bool consumes_receive() const {
    constexpr std::uint32_t kConsuming =
        1u << static_cast<int>(SendOperation::send) |
        1u << static_cast<int>(SendOperation::send_with_immediate) |
        1u << static_cast<int>(SendOperation::send_with_invalidate) |
        1u << static_cast<int>(SendOperation::rdma_write_with_immediate);
    return (kConsuming >> static_cast<int>(request.operation) & 1) != 0;
  }
  bool is_read() const { return request.operation == SendOperation::rdma_read; }
  bool is_atomic() const {
    return request.operation == SendOperation::compare_swap ||
           request.operation == SendOperation::fetch_add;
  }
  bool is_local() const { return transport::is_local(request.operation); }
  // Its payload's place at the peer is the point; answered by an empty READ response.
  bool is_placement() const {
    return request.operation == SendOperation::atomic_write ||
           request.operation == SendOperation::flush;
  }
  // Its list is written to.
  bool fetches() const { return is_read() || is_atomic(); }
  // Completed by a response of its own, not by an acknowledgement.
  bool wants_response() const { return fetches() || is_placement(); }
};

CompletionOperation completion_operation(SendOperation operation);

// Bytes of all elements, or of the inline data.
std::uint64_t length_of(const SendRequest& request);

class SendQueue {
 public:
  explicit SendQueue(const QueuePairCapacity& capacity, std::uint64_t max_message = kMaxMessage);

  std::optional<PostError> push(const SendRequest& request);
  void pop();
  void clear();

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  // 0 is the oldest.
  SendEntry& operator[](std::uint32_t index) { return ring_[slot(index)]; }
  const SendEntry& operator[](std::uint32_t index) const { return ring_[slot(index)]; }

 private:
  using MemoryOperand = std::variant<FastRegistration, WindowBinding>;

  // Copies what a request that changes keys points to; the first such request makes the room.
  void keep_operand(std::uint32_t at, const SendRequest& request);
  std::uint32_t slot(std::uint32_t index) const {
    const std::uint32_t at = head_ + index;
    return at < capacity_ ? at : at - capacity_;
  }

  std::uint32_t capacity_;
  std::uint32_t max_sges_;
  std::uint32_t max_inline_;
  std::uint64_t max_message_;
  std::uint32_t inline_room_;  // for each request
  std::vector<SendEntry> ring_;
  std::vector<Sge> sges_;
  std::vector<std::byte> inline_data_;
  std::vector<MemoryOperand> operands_;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace softrnic::transport
