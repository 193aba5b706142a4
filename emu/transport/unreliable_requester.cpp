// SPDX-License-Identifier: BSD-3-Clause
#include "transport/unreliable_requester.hpp"

#include <algorithm>

#include "transport/memory_operation.hpp"
#include "transport/opcode_choice.hpp"
#include "transport/payload.hpp"
#include "transport/retry_policy.hpp"
#include "transport/work_completion.hpp"

namespace softrnic::transport {

UnreliableRequester::UnreliableRequester(const QueuePairContext& context,
                                         const QueuePairAttributes& attributes)
    : context_(context), attributes_(attributes), queue_(context.capacity, context.max_message) {}

void UnreliableRequester::reset() {
  queue_.clear();
  next_packet_ = 0;
  draining_ = failed_ = lost_completion_ = false;
}

void UnreliableRequester::flush() {
  flush_sends(context_, queue_);
  reset();
}

std::optional<PostError> UnreliableRequester::post(const SendRequest& request) {
  const bool is_send = request.operation == SendOperation::send ||
                       request.operation == SendOperation::send_with_immediate;
  const bool is_write = request.operation == SendOperation::rdma_write ||
                        request.operation == SendOperation::rdma_write_with_immediate;
  // Keys are for RDMA, which datagrams do not have.
  const bool offered = is_datagram() ? is_send : is_send || is_write || is_local(request.operation);
  if (!offered) return PostError::bad_operation;
  if (is_datagram()) {
    if (request.address_handle == 0) return PostError::bad_address_handle;
    // A datagram is one packet (9.8.3.1).
    if (length_of(request) > attributes_.path_mtu) return PostError::message_too_long;
  }
  return queue_.push(request);
}

bool UnreliableRequester::poll_transmit(wire::Instant now, OutboundPacket& out) {
  while (wants_transmit(now) && queue_[0].is_local()) {
    retire_head(execute_locally(context_, queue_[0].request));
  }
  if (!wants_transmit(now)) return false;
  SendEntry& entry = queue_[0];
  entry.packets = packets_of(entry.length, attributes_.path_mtu);
  const std::uint64_t offset = std::uint64_t{next_packet_} * attributes_.path_mtu;
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(attributes_.path_mtu, entry.length - offset));
  const MemoryFault fault =
      gather_payload(context_, entry, offset, out.payload_room.slice(0, size));
  if (fault != MemoryFault::none) {
    retire_head(CompletionStatus::local_protection_error);
    return false;
  }
  const bool first = next_packet_ == 0;
  const bool last = next_packet_ + 1 == entry.packets;
  out.headers = {};
  out.payload_size = size;
  fill_headers(entry, first, last, out);
  ++next_psn_;
  ++next_packet_;
  if (last) {
    ++context_.counters.rdma_sends;
    retire_head(CompletionStatus::success);
  }
  return true;
}

void UnreliableRequester::fill_headers(const SendEntry& entry, bool first, bool last,
                                       OutboundPacket& out) {
  const SendRequest& request = entry.request;
  wire::Bth& bth = out.headers.bth;
  bth.migration_request = true;  // the migrated state: no alternate path is kept (17.2.8)
  bth.partition_key = attributes_.partition_key;
  bth.psn = next_psn_;
  bth.solicited = last && request.solicited;
  if (is_datagram()) {
    bth.opcode = request.operation == SendOperation::send_with_immediate
                     ? wire::Opcode::ud_send_only_immediate
                     : wire::Opcode::ud_send_only;
    bth.destination_qpn = request.remote_qpn;
    out.address_handle = request.address_handle;
    // A key with its top bit set stands for the queue pair's own (10.2.5).
    const bool own_key = (request.remote_queue_key & 0x80000000u) != 0;
    out.headers.deth = {.queue_key = own_key ? attributes_.queue_key : request.remote_queue_key,
                        .source_qpn = context_.qpn};
  } else {
    bth.opcode =
        message_opcode(wire::Service::unreliable_connection, request.operation, first, last);
    bth.destination_qpn = attributes_.destination_qpn;
    out.address_handle = 0;
  }
  const wire::OpcodeInfo& opcode = wire::info(bth.opcode);
  if (opcode.has(wire::kReth)) {
    out.headers.reth = {.virtual_address = request.remote_address,
                        .remote_key = request.remote_key,
                        .dma_length = static_cast<std::uint32_t>(entry.length)};
  }
  if (opcode.has(wire::kImmDt)) out.headers.immdt.data = request.immediate;
}

void UnreliableRequester::retire_head(CompletionStatus status) {
  const SendRequest& request = queue_[0].request;  // stays in its slot until another is posted
  queue_.pop();
  next_packet_ = 0;
  lost_completion_ = !complete_send(context_, request, status, 0);
  failed_ = lost_completion_ || status != CompletionStatus::success;
}

}  // namespace softrnic::transport
