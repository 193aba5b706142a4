// SPDX-License-Identifier: BSD-3-Clause
#include "wire/udp.hpp"

#include <algorithm>

namespace softrnic::wire {

UdpHeader UdpHeader::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  UdpHeader h;
  h.source_port = static_cast<std::uint16_t>(get(p, kSourcePort));
  h.destination_port = static_cast<std::uint16_t>(get(p, kDestinationPort));
  h.length = static_cast<std::uint16_t>(get(p, kLength));
  h.checksum = static_cast<std::uint16_t>(get(p, kChecksum));
  return h;
}

void UdpHeader::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kSourcePort, source_port);
  put(p, kDestinationPort, destination_port);
  put(p, kLength, length);
  put(p, kChecksum, checksum);
}

}  // namespace softrnic::wire
