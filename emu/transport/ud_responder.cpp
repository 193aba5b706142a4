// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ud_responder.hpp"

namespace softrnic::transport {

UdResponder::UdResponder(const QueuePairContext& context, const QueuePairAttributes& attributes)
    : context_(context), attributes_(attributes), receives_(context.capacity) {}

void UdResponder::reset() {
  receives_.clear();
  failed_ = false;
}

void UdResponder::flush(bool) {
  while (!receives_.empty()) {
    ++context_.counters.resp_cqe_flush_error;
    context_.receive_completions.complete({.id = receives_.front().id,
                                           .status = CompletionStatus::work_request_flushed,
                                           .operation = CompletionOperation::receive,
                                           .qpn = context_.qpn});
    receives_.pop();
  }
}

std::optional<PostError> UdResponder::post(const ReceiveRequest& request) {
  return receives_.push(request);
}

void UdResponder::on_request(wire::Instant, const InboundPacket& packet) {
  if (failed_) return;
  if (packet.headers.deth.queue_key != attributes_.queue_key) {
    ++context_.counters.qkey_violations;
    return;
  }
  const auto size = static_cast<std::uint32_t>(kGrhRoom + packet.payload.size());
  if (receives_.empty() || receives_.front().length < size || packet.grh.size() != kGrhRoom) {
    // No receive, or one too short: the datagram is lost (9.9.3, class E).
    ++(receives_.empty() ? context_.counters.out_of_buffer
                         : context_.counters.resp_local_length_error);
    ++context_.counters.unreliable_dropped;
    return;
  }
  const ReceiveEntry receive = receives_.front();
  MemoryFault fault =
      context_.memory.scatter(context_.domain, receive.sges, 0, wire::ByteChain(packet.grh));
  if (fault == MemoryFault::none && !packet.payload.empty()) {
    fault = context_.memory.scatter(context_.domain, receive.sges, kGrhRoom, packet.payload);
  }
  const bool immediate = packet.opcode.has(wire::kImmDt);
  receives_.pop();
  if (fault != MemoryFault::none) {
    ++context_.counters.resp_cqe_error;
    failed_ = true;
  } else {
    ++context_.counters.rdma_recvs;
  }
  const bool delivered = context_.receive_completions.complete(
      {.id = receive.id,
       .status = fault == MemoryFault::none ? CompletionStatus::success
                                            : CompletionStatus::local_protection_error,
       .operation = CompletionOperation::receive,
       .qpn = context_.qpn,
       .byte_length = size,
       .has_immediate = immediate,
       .immediate = immediate ? packet.headers.immdt.data : 0,
       .has_grh = true,
       .source_qpn = packet.headers.deth.source_qpn,
       .solicited = packet.headers.bth.solicited});
  if (!delivered) failed_ = true;
}

}  // namespace softrnic::transport
