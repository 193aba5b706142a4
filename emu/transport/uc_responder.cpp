// SPDX-License-Identifier: BSD-3-Clause
#include "transport/uc_responder.hpp"

#include "transport/retry_policy.hpp"

namespace softrnic::transport {

UcResponder::UcResponder(const QueuePairContext& context, const QueuePairAttributes& attributes)
    : context_(context), attributes_(attributes), receives_(context.capacity) {}

void UcResponder::start() {
  expected_psn_ = attributes_.receive_psn;
}

void UcResponder::reset() {
  receives_.clear();
  message_ = Message::none;
  failed_ = false;
}

void UcResponder::flush(bool) {
  while (!receives_.empty()) {
    ++context_.counters.resp_cqe_flush_error;
    context_.receive_completions.complete({.id = receives_.front().id,
                                           .status = CompletionStatus::work_request_flushed,
                                           .operation = CompletionOperation::receive,
                                           .qpn = context_.qpn});
    receives_.pop();
  }
  message_ = Message::none;
}

std::optional<PostError> UcResponder::post(const ReceiveRequest& request) {
  return receives_.push(request);
}

void UcResponder::on_request(wire::Instant, const InboundPacket& packet) {
  if (failed_) return;
  const wire::Psn psn = packet.headers.bth.psn;
  const bool in_order = psn == expected_psn_;
  // Whatever arrives sets what is expected next (9.8.2.2.1): UC asks for nothing again.
  if (!in_order) ++context_.counters.out_of_sequence;
  expected_psn_ = psn + 1;

  if (packet.opcode.starts_message()) {
    if (message_ != Message::none) drop_message();
    if (!begin_message(packet)) return drop_message();
  } else {
    if (message_ == Message::none) return;  // the rest of a message already dropped
    const bool same_kind =
        (packet.opcode.operation == wire::Operation::send) == (message_ == Message::send);
    if (!in_order || !same_kind) return drop_message();
  }
  const bool taken = length_is_right(packet) &&
                     (message_ == Message::send ? take_send(packet) : take_write(packet));
  if (!taken) drop_message();
}

bool UcResponder::length_is_right(const InboundPacket& packet) const {
  const std::size_t size = packet.payload.size();
  switch (packet.opcode.position) {
    case wire::Position::first:
    case wire::Position::middle:
      return size == attributes_.path_mtu;
    case wire::Position::last:
      return size >= 1 && size <= attributes_.path_mtu;
    case wire::Position::only:
      return size <= attributes_.path_mtu;
  }
  return false;
}

bool UcResponder::begin_message(const InboundPacket& packet) {
  message_offset_ = 0;
  if (packet.opcode.operation == wire::Operation::send) {
    if (receives_.empty()) {
      ++context_.counters.out_of_buffer;
      return false;
    }
    message_ = Message::send;
    return true;
  }
  const wire::Reth& reth = packet.headers.reth;
  if ((attributes_.remote_access & kRemoteWrite) == 0 || reth.dma_length > kMaxMessage) {
    return false;
  }
  const MemoryFault fault = context_.memory.check_remote(
      context_.domain, reth.remote_key, reth.virtual_address, reth.dma_length, kRemoteWrite);
  if (fault != MemoryFault::none) {
    ++context_.counters.resp_remote_access_errors;
    return false;
  }
  write_address_ = reth.virtual_address;
  write_key_ = reth.remote_key;
  write_length_ = reth.dma_length;
  message_ = Message::write;
  return true;
}

bool UcResponder::take_send(const InboundPacket& packet) {
  const ReceiveEntry& receive = receives_.front();
  if (message_offset_ + packet.payload.size() > receive.length) {
    ++context_.counters.resp_local_length_error;
    return false;
  }
  const MemoryFault fault =
      context_.memory.scatter(context_.domain, receive.sges, message_offset_, packet.payload);
  if (fault != MemoryFault::none) {
    ++context_.counters.resp_cqe_error;
    context_.receive_completions.complete({.id = receive.id,
                                           .status = CompletionStatus::local_protection_error,
                                           .operation = CompletionOperation::receive,
                                           .qpn = context_.qpn});
    receives_.pop();
    failed_ = true;
    return false;
  }
  message_offset_ += packet.payload.size();
  if (packet.opcode.ends_message()) {
    message_ = Message::none;
    complete_receive(packet, CompletionOperation::receive,
                     static_cast<std::uint32_t>(message_offset_));
  }
  return true;
}

bool UcResponder::take_write(const InboundPacket& packet) {
  const std::uint64_t end = message_offset_ + packet.payload.size();
  const bool last = packet.opcode.ends_message();
  if (end > write_length_ || (last && end != write_length_)) return false;
  const bool immediate = packet.opcode.has(wire::kImmDt);
  if (immediate && receives_.empty()) {
    ++context_.counters.out_of_buffer;
    return false;
  }
  if (!packet.payload.empty() &&
      context_.memory.write_remote(context_.domain, write_key_, write_address_ + message_offset_,
                                   packet.payload) != MemoryFault::none) {
    ++context_.counters.resp_remote_access_errors;
    return false;
  }
  message_offset_ = end;
  if (last) {
    message_ = Message::none;
    ++context_.counters.rx_write_requests;
    if (immediate) {
      complete_receive(packet, CompletionOperation::receive_rdma_with_immediate,
                       static_cast<std::uint32_t>(write_length_));
    }
  }
  return true;
}

void UcResponder::complete_receive(const InboundPacket& packet, CompletionOperation operation,
                                   std::uint32_t byte_length) {
  const bool immediate = packet.opcode.has(wire::kImmDt);
  ++context_.counters.rdma_recvs;
  const bool delivered =
      context_.receive_completions.complete({.id = receives_.front().id,
                                             .operation = operation,
                                             .qpn = context_.qpn,
                                             .byte_length = byte_length,
                                             .has_immediate = immediate,
                                             .immediate = immediate ? packet.headers.immdt.data : 0,
                                             .solicited = packet.headers.bth.solicited});
  receives_.pop();
  if (!delivered) failed_ = true;
}

void UcResponder::drop_message() {
  ++context_.counters.unreliable_dropped;
  message_ = Message::none;
}

}  // namespace softrnic::transport
