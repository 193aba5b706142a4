// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ud_responder.hpp"

#include "transport/work_completion.hpp"

namespace softrnic::transport {

UdResponder::UdResponder(const QueuePairContext& context, const QueuePairAttributes& attributes)
    : context_(context), attributes_(attributes), receives_(context) {}

void UdResponder::reset() {
  receives_.clear();
  failed_ = false;
}

void UdResponder::flush(bool) {
  flush_receives(context_, receives_);
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
  const bool provided = receives_.provide();
  if (!provided || receives_.front().length < size || packet.grh.size() != kGrhRoom) {
    // No receive, or one too short: the datagram is lost (9.9.3, class E).
    ++(provided ? context_.counters.resp_local_length_error : context_.counters.out_of_buffer);
    ++context_.counters.unreliable_dropped;
    return;
  }
  const std::span<const Sge> sges = receives_.front().sges;
  MemoryFault fault =
      context_.memory.scatter(receives_.domain(), sges, 0, wire::ByteChain(packet.grh));
  if (fault == MemoryFault::none && !packet.payload.empty()) {
    fault = context_.memory.scatter(receives_.domain(), sges, kGrhRoom, packet.payload);
  }
  if (fault != MemoryFault::none) {
    fail_receive(context_, receives_, CompletionStatus::local_protection_error);
    failed_ = true;
    return;
  }
  failed_ = !complete_receive(context_, receives_, packet, CompletionOperation::receive, size);
}

}  // namespace softrnic::transport
