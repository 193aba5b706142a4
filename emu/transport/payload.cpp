// SPDX-License-Identifier: BSD-3-Clause
#include "transport/payload.hpp"

namespace softrnic::transport {

MemoryFault gather_payload(const QueuePairContext& context, const SendEntry& entry,
                           std::uint64_t offset, wire::MutableByteChain out) {
  const std::span<const std::byte> bytes = entry.request.inline_data;
  if (bytes.empty()) {
    return context.memory.gather(context.domain, entry.request.sges, offset, out);
  }
  wire::copy(wire::ByteChain(wire::ByteView(bytes.subspan(offset, out.size()))), out);
  return MemoryFault::none;
}

}  // namespace softrnic::transport
