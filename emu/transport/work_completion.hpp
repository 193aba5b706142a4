// SPDX-License-Identifier: BSD-3-Clause
// Turning finished requests into completions, the same for every service.
#pragma once

#include "transport/queue_pair.hpp"
#include "transport/receive_queue.hpp"
#include "transport/send_queue.hpp"

namespace softrnic::transport {

// Delivers the completion of `request` if it is signaled or failed. False when the completion
// queue was full.
bool complete_send(const QueuePairContext& context, const SendRequest& request,
                   CompletionStatus status, std::uint32_t byte_length);

// Completes everything in the queue as flushed, oldest first, and empties it.
void flush_sends(const QueuePairContext& context, SendQueue& queue);

// Completes the oldest receive with what `packet`, the last of its message, says, and removes it.
// False when the completion queue was full.
bool complete_receive(const QueuePairContext& context, ReceiveQueue& queue,
                      const InboundPacket& packet, CompletionOperation operation,
                      std::uint64_t byte_length);

// Completes the oldest receive with an error and removes it.
void fail_receive(const QueuePairContext& context, ReceiveQueue& queue, CompletionStatus status);

void flush_receives(const QueuePairContext& context, ReceiveQueue& queue);

}  // namespace softrnic::transport
