// SPDX-License-Identifier: BSD-3-Clause
// What a user posts to a queue pair (IBTA vol. 1, 11.4.1).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "transport/memory_gate.hpp"

namespace softrnic::transport {

enum class SendOperation : std::uint8_t {
  send,
  send_with_immediate,
  rdma_write,
  rdma_write_with_immediate,
  rdma_read,
  compare_swap,
  fetch_add,
  send_with_invalidate,
  // Local: no packet leaves; they take effect in their turn and complete in order (10.6.5, 10.6.7).
  local_invalidate,
  fast_register,
  bind_window,
  // Memory placement extensions (annex A19); reliable connections only.
  atomic_write,
  flush,
};

constexpr bool is_local(SendOperation operation) {
  return operation == SendOperation::local_invalidate ||
         operation == SendOperation::fast_register || operation == SendOperation::bind_window;
}

std::string_view to_string(SendOperation operation);

// What FLUSH is to achieve (OR of bits), as the FETH numbers it.
enum Placement : std::uint8_t {
  kGlobalVisibility = 1u << 0,
  kPersistence = 1u << 1,
};

struct SendRequest {
  std::uint64_t id = 0;
  SendOperation operation = SendOperation::send;
  bool signaled = true;
  bool solicited = false;
  // Wait until earlier requests of this queue pair have completed that get a response: RDMA READs,
  // atomics, ATOMIC WRITEs, FLUSHes.
  bool fence = false;
  bool flush_all = false;      // FLUSH: all that remote_key reaches, instead of flush_length
  std::uint8_t placement = 0;  // FLUSH: OR of Placement
  // What is sent, or where a READ's or atomic's answer goes. Copied when posted.
  std::span<const Sge> sges{};
  // Sent instead of a list, and copied when posted, so that no region is needed. SENDs and WRITEs
  // of all kinds take it.
  std::span<const std::byte> inline_data{};

  std::uint64_t remote_address = 0;  // WRITE, READ, atomics, FLUSH
  std::uint32_t remote_key = 0;
  std::uint32_t immediate = 0;
  std::uint64_t swap_add = 0;  // atomics
  std::uint64_t compare = 0;
  std::uint64_t flush_length = 0;  // FLUSH: bytes from remote_address on

  // The key that a SEND with invalidate invalidates at the peer, or a local invalidate here.
  std::uint32_t invalidate_key = 0;
  // For requests that are rare, and large: copied when posted, out of the way of all others.
  const FastRegistration* registration = nullptr;  // fast_register
  const WindowBinding* binding = nullptr;          // bind_window

  // XRC: the number of the target's shared receive queue, with every operation.
  std::uint32_t remote_srq = 0;

  // UD: where to, as a handle the NIC resolves, and the destination's number and key.
  std::uint32_t address_handle = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_queue_key = 0;
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::span<const Sge> sges{};  // copied when posted
};

enum class PostError : std::uint8_t {
  queue_full,
  too_many_sges,
  bad_state,         // the queue pair's state does not take this request
  bad_operation,     // the service does not offer it
  message_too_long,  // UD: more than the path MTU; others: more than 2^31 bytes
  bad_address_handle,
  shared_receive_queue,  // the queue pair receives through one: post to that
  bad_inline,  // more than the queue pair was made for, beside a list, or for an operation without
};

std::string_view to_string(PostError error);

}  // namespace softrnic::transport
