// SPDX-License-Identifier: BSD-3-Clause
// How a work request ended (IBTA vol. 1, 11.4.2.1, 11.6.2).
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/instant.hpp"

namespace softrnic::transport {

// Numbered and named as ibv_wc_status.
enum class CompletionStatus : std::uint8_t {
  success = 0,
  local_length_error = 1,
  local_qp_operation_error = 2,
  local_protection_error = 4,
  work_request_flushed = 5,
  memory_management_error = 6,  // ibv's MW_BIND_ERR: a bind, registration or invalidation failed
  bad_response = 7,
  local_access_error = 8,
  remote_invalid_request = 9,
  remote_access_error = 10,
  remote_operational_error = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  fatal = 18,
  general_error = 20,
};

// The words of ibv_wc_status_str: "success", "remote access error", ...
std::string_view to_string(CompletionStatus status);

enum class CompletionOperation : std::uint8_t {
  send,
  rdma_write,
  rdma_read,
  compare_swap,
  fetch_add,
  receive,
  receive_rdma_with_immediate,
  local_invalidate,
  fast_register,
  bind_window,
  atomic_write,
  flush,
};

struct Completion {
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOperation operation = CompletionOperation::send;
  std::uint32_t qpn = 0;
  std::uint32_t byte_length = 0;  // receives (with the 40 GRH bytes for UD), READs, atomics
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  bool has_invalidate = false;        // receives: the peer's SEND invalidated a key of ours
  std::uint32_t invalidated_key = 0;  // which
  bool has_grh = false;               // UD: the buffer begins with 40 bytes of GRH room
  std::uint32_t source_qpn = 0;       // UD
  bool solicited = false;
  wire::Instant at{};  // when it came into the completion queue, by the NIC's clock
};

// Where completions go; a completion queue of the NIC. False when it is full: the queue pair then
// fails (IBTA vol. 1, 10.10.3: completion queue error).
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  virtual bool complete(const Completion& completion) = 0;
};

}  // namespace softrnic::transport
