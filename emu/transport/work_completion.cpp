// SPDX-License-Identifier: BSD-3-Clause
#include "transport/work_completion.hpp"

namespace softrnic::transport {
namespace {

// What is lost for want of room no completion can tell (11.6.3.2).
bool deliver(const QueuePairContext& context, CompletionSink& sink, const Completion& completion) {
  const bool delivered = sink.complete(completion);
  if (!delivered) context.events.raise(AsyncEvent::queue_pair_fatal, context.qpn);
  return delivered;
}

}  // namespace

bool complete_send(const QueuePairContext& context, const SendRequest& request,
                   CompletionStatus status, std::uint32_t byte_length) {
  const bool failed = status != CompletionStatus::success;
  if (!request.signaled && !failed) return true;
  if (status == CompletionStatus::work_request_flushed) {
    ++context.counters.req_cqe_flush_error;
  } else if (failed) {
    ++context.counters.req_cqe_error;
  }
  return deliver(context, context.send_completions,
                 {.id = request.id,
                  .status = status,
                  .operation = completion_operation(request.operation),
                  .qpn = context.qpn,
                  .byte_length = byte_length});
}

void flush_sends(const QueuePairContext& context, SendQueue& queue) {
  while (!queue.empty()) {
    complete_send(context, queue[0].request, CompletionStatus::work_request_flushed, 0);
    queue.pop();
  }
}

bool complete_receive(const QueuePairContext& context, ReceiveQueue& queue,
                      const InboundPacket& packet, CompletionOperation operation,
                      std::uint64_t byte_length) {
  const bool immediate = packet.opcode.has(wire::kImmDt);
  const bool invalidate = packet.opcode.has(wire::kIeth);
  const bool datagram = context.type == QueuePairType::ud;
  ++context.counters.rdma_recvs;
  const std::uint64_t id = queue.front().id;
  queue.pop();
  return deliver(context, queue.completions(),
                 {.id = id,
                  .operation = operation,
                  .qpn = context.qpn,
                  .byte_length = static_cast<std::uint32_t>(byte_length),
                  .has_immediate = immediate,
                  .immediate = immediate ? packet.headers.immdt.data : 0,
                  .has_invalidate = invalidate,
                  .invalidated_key = invalidate ? packet.headers.ieth.remote_key : 0,
                  .has_grh = datagram,
                  .source_qpn = packet.headers.deth.source_qpn,
                  .solicited = packet.headers.bth.solicited});
}

void fail_receive(const QueuePairContext& context, ReceiveQueue& queue, CompletionStatus status) {
  if (status == CompletionStatus::work_request_flushed) {
    ++context.counters.resp_cqe_flush_error;
  } else {
    ++context.counters.resp_cqe_error;
  }
  const std::uint64_t id = queue.front().id;
  queue.pop();
  deliver(
      context, queue.completions(),
      {.id = id, .status = status, .operation = CompletionOperation::receive, .qpn = context.qpn});
}

void flush_receives(const QueuePairContext& context, ReceiveQueue& queue) {
  while (!queue.empty()) fail_receive(context, queue, CompletionStatus::work_request_flushed);
}

}  // namespace softrnic::transport
