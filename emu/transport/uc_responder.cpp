// SPDX-License-Identifier: BSD-3-Clause
#include "transport/uc_responder.hpp"

#include "transport/retry_policy.hpp"
#include "transport/work_completion.hpp"

namespace softrnic::transport {

UcResponder::UcResponder(const QueuePairContext& context, const QueuePairAttributes& attributes)
    : context_(context), attributes_(attributes), receives_(context) {}

void UcResponder::start() {
  expected_psn_ = attributes_.receive_psn;
}

void UcResponder::reset() {
  receives_.clear();
  message_.end();
  failed_ = false;
}

void UcResponder::flush(bool) {
  flush_receives(context_, receives_);
  message_.end();
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
    if (message_.kind() != InboundMessage::Kind::none) drop_message();
    if (!begin_message(packet)) return drop_message();
  } else {
    // The rest of a message already dropped.
    if (message_.kind() == InboundMessage::Kind::none) return;
    if (!in_order || !message_.accepts(packet.opcode)) return drop_message();
  }
  const bool send = message_.kind() == InboundMessage::Kind::send;
  const bool taken = payload_size_is_right(packet, attributes_.path_mtu) &&
                     (send ? take_send(packet) : take_write(packet));
  if (!taken) drop_message();
}

bool UcResponder::begin_message(const InboundPacket& packet) {
  if (packet.opcode.operation == wire::Operation::send) {
    if (!receives_.provide()) {
      ++context_.counters.out_of_buffer;
      return false;
    }
    message_.begin_send();
    return true;
  }
  const wire::Reth& reth = packet.headers.reth;
  if ((attributes_.remote_access & kRemoteWrite) == 0 || reth.dma_length > context_.max_message) {
    return false;
  }
  const MemoryFault fault = context_.memory.check_remote(
      context_.accessor(), reth.remote_key, reth.virtual_address, reth.dma_length, kRemoteWrite);
  if (fault != MemoryFault::none) {
    ++context_.counters.resp_remote_access_errors;
    return false;
  }
  message_.begin_write(reth);
  return true;
}

bool UcResponder::take_send(const InboundPacket& packet) {
  const ReceiveEntry& receive = receives_.front();
  if (message_.offset() + packet.payload.size() > receive.length) {
    ++context_.counters.resp_local_length_error;
    return false;
  }
  const MemoryFault fault =
      context_.memory.scatter(receives_.domain(), receive.sges, message_.offset(), packet.payload);
  if (fault != MemoryFault::none) {
    fail_receive(context_, receives_, CompletionStatus::local_protection_error);
    failed_ = true;
    return false;
  }
  message_.advance(packet.payload.size());
  if (packet.opcode.ends_message()) {
    message_.end();
    failed_ = !complete_receive(context_, receives_, packet, CompletionOperation::receive,
                                message_.offset());
  }
  return true;
}

bool UcResponder::take_write(const InboundPacket& packet) {
  if (!message_.fits_announcement(packet)) return false;
  const bool immediate = packet.opcode.has(wire::kImmDt);
  if (immediate && !receives_.provide()) {
    ++context_.counters.out_of_buffer;
    return false;
  }
  if (!packet.payload.empty() &&
      context_.memory.write_remote(context_.accessor(), message_.write_key(),
                                   message_.write_address(), packet.payload) != MemoryFault::none) {
    ++context_.counters.resp_remote_access_errors;
    return false;
  }
  message_.advance(packet.payload.size());
  if (packet.opcode.ends_message()) {
    message_.end();
    ++context_.counters.rx_write_requests;
    if (immediate) {
      failed_ = !complete_receive(context_, receives_, packet,
                                  CompletionOperation::receive_rdma_with_immediate,
                                  message_.write_length());
    }
  }
  return true;
}

void UcResponder::drop_message() {
  ++context_.counters.unreliable_dropped;
  message_.end();
}

}  // namespace softrnic::transport
