// SPDX-License-Identifier: BSD-3-Clause
#include "transport/unreliable_requester.hpp"

#include "transport/memory_operation.hpp"
#include "transport/request_packet.hpp"
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
  begin_request(attributes_, next_psn_, out);
  if (is_datagram()) address(entry.request, out);
  if (fill_request(context_, attributes_, entry, next_packet_, out) != MemoryFault::none) {
    retire_head(CompletionStatus::local_protection_error);
    return false;
  }
  ++next_psn_;
  if (++next_packet_ == entry.packets) {
    ++context_.counters.rdma_sends;
    retire_head(CompletionStatus::success);
  }
  return true;
}

void UnreliableRequester::address(const SendRequest& request, OutboundPacket& out) {
  out.headers.bth.destination_qpn = request.remote_qpn;
  out.address_handle = request.address_handle;
  // A key with its top bit set stands for the queue pair's own (10.2.5).
  const bool own_key = (request.remote_queue_key & 0x80000000u) != 0;
  out.headers.deth = {.queue_key = own_key ? attributes_.queue_key : request.remote_queue_key,
                      .source_qpn = context_.qpn};
}

void UnreliableRequester::retire_head(CompletionStatus status) {
  const SendRequest& request = queue_[0].request;  // stays in its slot until another is posted
  queue_.pop();
  next_packet_ = 0;
  lost_completion_ = !complete_send(context_, request, status, 0);
  failed_ = lost_completion_ || status != CompletionStatus::success;
}

}  // namespace softrnic::transport
