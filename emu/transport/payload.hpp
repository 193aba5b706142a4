// SPDX-License-Identifier: BSD-3-Clause
// What a request sends: bytes of its list, or those that were posted inline.
#pragma once

#include "transport/queue_pair.hpp"
#include "transport/send_queue.hpp"

namespace softrnic::transport {

// Copies bytes [offset, offset + out.size()) of the payload, which is long enough, into `out`.
MemoryFault gather_payload(const QueuePairContext& context, const SendEntry& entry,
                           std::uint64_t offset, wire::MutableByteChain out);

}  // namespace softrnic::transport
