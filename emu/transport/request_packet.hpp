// SPDX-License-Identifier: BSD-3-Clause
// What the packets of a request carry, for every kind of request and every service: the opcode, the
// headers behind the BTH, the payload (IBTA vol. 1, 9.4; annexes A14, A19). When a packet goes, and
// whether it asks for an acknowledgement, is the requester's.
#pragma once

#include "transport/packet.hpp"
#include "transport/queue_pair.hpp"
#include "transport/send_queue.hpp"

namespace softrnic::transport {

// The packet of that PSN to the queue pair's peer, with nothing in it yet.
void begin_request(const QueuePairAttributes& attributes, wire::Psn psn, OutboundPacket& out);

// Fills in packet `index` of the entry. A fault of its local memory leaves the packet unspecified.
MemoryFault fill_request(const QueuePairContext& context, const QueuePairAttributes& attributes,
                         const SendEntry& entry, std::uint32_t index, OutboundPacket& out);

}  // namespace softrnic::transport
