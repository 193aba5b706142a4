// SPDX-License-Identifier: BSD-3-Clause
#include "transport/request_packet.hpp"

#include <algorithm>

#include "transport/opcode_choice.hpp"

namespace softrnic::transport {
namespace {

wire::Reth reth_of(const SendRequest& request, std::uint64_t length) {
  return {.virtual_address = request.remote_address,
          .remote_key = request.remote_key,
          .dma_length = static_cast<std::uint32_t>(length)};
}

// Bytes [offset, offset + size) of the list, or of those that were posted inline.
MemoryFault lay_payload(const QueuePairContext& context, const SendEntry& entry,
                        std::uint64_t offset, std::uint32_t size, OutboundPacket& out) {
  out.payload_size = size;
  const wire::MutableByteChain room = out.payload_room.slice(0, size);
  const std::span<const std::byte> bytes = entry.request.inline_data;
  if (bytes.empty()) {
    return context.memory.gather(context.domain, entry.request.sges, offset, room);
  }
  wire::copy(wire::ByteChain(wire::ByteView(bytes.subspan(offset, size))), room);
  return MemoryFault::none;
}

// A READ taken up again asks for what is still missing, under the missing PSN (9.7.5.1.2).
void fill_read(const SendEntry& entry, std::uint64_t offset, wire::TransportHeaders& headers) {
  headers.bth.opcode = wire::Opcode::rc_read_request;
  headers.reth = reth_of(entry.request, entry.length - offset);
  headers.reth.virtual_address += offset;
}

void fill_atomic(const SendRequest& request, wire::TransportHeaders& headers) {
  const bool swap = request.operation == SendOperation::compare_swap;
  headers.bth.opcode = swap ? wire::Opcode::rc_compare_swap : wire::Opcode::rc_fetch_add;
  headers.atomic_eth = {.virtual_address = request.remote_address,
                        .remote_key = request.remote_key,
                        .swap_add = request.swap_add,
                        .compare = swap ? request.compare : 0};
}

void fill_flush(const SendRequest& request, wire::TransportHeaders& headers) {
  headers.bth.opcode = wire::Opcode::rc_flush;
  headers.feth = {.reserved = 0,
                  .selectivity = request.flush_all ? wire::Feth::kWholeRegion : wire::Feth::kRange,
                  .placement_type = request.placement};
  headers.reth = reth_of(request, request.flush_length);
}

MemoryFault fill_atomic_write(const QueuePairContext& context, const SendEntry& entry,
                              OutboundPacket& out) {
  out.headers.bth.opcode = wire::Opcode::rc_atomic_write;
  out.headers.reth = reth_of(entry.request, 8);
  return lay_payload(context, entry, 0, 8, out);
}

// A packet of a SEND or WRITE.
MemoryFault fill_message(const QueuePairContext& context, const QueuePairAttributes& attributes,
                         const SendEntry& entry, std::uint32_t index, OutboundPacket& out) {
  const SendRequest& request = entry.request;
  const bool first = index == 0;
  const bool last = index + 1 == entry.packets;
  wire::TransportHeaders& headers = out.headers;
  headers.bth.opcode = message_opcode(request.operation, first, last);
  headers.bth.solicited = last && request.solicited;
  const wire::OpcodeInfo& opcode = wire::info(headers.bth.opcode);
  if (opcode.has(wire::kReth)) headers.reth = reth_of(request, entry.length);
  if (opcode.has(wire::kImmDt)) headers.immdt.data = request.immediate;
  if (opcode.has(wire::kIeth)) headers.ieth.remote_key = request.invalidate_key;
  const std::uint64_t offset = std::uint64_t{index} * attributes.path_mtu;
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(attributes.path_mtu, entry.length - offset));
  return lay_payload(context, entry, offset, size, out);
}

}  // namespace

void begin_request(const QueuePairAttributes& attributes, wire::Psn psn, OutboundPacket& out) {
  out.headers = {};
  out.payload_size = 0;
  wire::Bth& bth = out.headers.bth;
  bth.migration_request = true;  // the migrated state: no alternate path is kept (17.2.8)
  bth.partition_key = attributes.partition_key;
  bth.destination_qpn = attributes.destination_qpn;
  bth.psn = psn;
}

MemoryFault fill_request(const QueuePairContext& context, const QueuePairAttributes& attributes,
                         const SendEntry& entry, std::uint32_t index, OutboundPacket& out) {
  MemoryFault fault = MemoryFault::none;
  switch (entry.request.operation) {
    case SendOperation::rdma_read:
      fill_read(entry, std::uint64_t{index} * attributes.path_mtu, out.headers);
      break;
    case SendOperation::compare_swap:
    case SendOperation::fetch_add:
      fill_atomic(entry.request, out.headers);
      break;
    case SendOperation::flush:
      fill_flush(entry.request, out.headers);
      break;
    case SendOperation::atomic_write:
      fault = fill_atomic_write(context, entry, out);
      break;
    default:
      fault = fill_message(context, attributes, entry, index, out);
      break;
  }
  out.headers.bth.opcode = in_service(context.service(), out.headers.bth.opcode);
  // XRC: in every request, and in none of another service (annex A14).
  out.headers.xrceth.shared_receive_queue = entry.request.remote_srq;
  return fault;
}

}  // namespace softrnic::transport
