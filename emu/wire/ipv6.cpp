// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ipv6.hpp"

#include <algorithm>
#include <cstring>

namespace softrnic::wire {

Ipv6Header Ipv6Header::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Ipv6Header h;
  h.version = static_cast<std::uint8_t>(get(p, kVersion));
  h.traffic_class = static_cast<std::uint8_t>(get(p, kTrafficClass));
  h.flow_label = static_cast<std::uint32_t>(get(p, kFlowLabel));
  h.payload_length = static_cast<std::uint16_t>(get(p, kPayloadLength));
  h.next_header = static_cast<std::uint8_t>(get(p, kNextHeader));
  h.hop_limit = static_cast<std::uint8_t>(get(p, kHopLimit));
  std::memcpy(h.source.bytes.data(), p + kSourceOffset, h.source.bytes.size());
  std::memcpy(h.destination.bytes.data(), p + kDestinationOffset, h.destination.bytes.size());
  return h;
}

void Ipv6Header::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSourceOffset, std::byte{});
  put(p, kVersion, version);
  put(p, kTrafficClass, traffic_class);
  put(p, kFlowLabel, flow_label);
  put(p, kPayloadLength, payload_length);
  put(p, kNextHeader, next_header);
  put(p, kHopLimit, hop_limit);
  std::memcpy(p + kSourceOffset, source.bytes.data(), source.bytes.size());
  std::memcpy(p + kDestinationOffset, destination.bytes.data(), destination.bytes.size());
}

}  // namespace softrnic::wire
