// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ipv4.hpp"

#include <algorithm>

namespace softrnic::wire {

Ipv4Header Ipv4Header::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Ipv4Header h;
  h.version = static_cast<std::uint8_t>(get(p, kVersion));
  h.header_words = static_cast<std::uint8_t>(get(p, kHeaderWords));
  h.traffic_class = static_cast<std::uint8_t>(get(p, kTrafficClass));
  h.total_length = static_cast<std::uint16_t>(get(p, kTotalLength));
  h.identification = static_cast<std::uint16_t>(get(p, kIdentification));
  h.flags = static_cast<std::uint8_t>(get(p, kFlags));
  h.fragment_offset = static_cast<std::uint16_t>(get(p, kFragmentOffset));
  h.time_to_live = static_cast<std::uint8_t>(get(p, kTimeToLive));
  h.protocol = static_cast<std::uint8_t>(get(p, kProtocol));
  h.checksum = static_cast<std::uint16_t>(get(p, kChecksum));
  h.source = static_cast<std::uint32_t>(get(p, kSource));
  h.destination = static_cast<std::uint32_t>(get(p, kDestination));
  return h;
}

void Ipv4Header::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kVersion, version);
  put(p, kHeaderWords, header_words);
  put(p, kTrafficClass, traffic_class);
  put(p, kTotalLength, total_length);
  put(p, kIdentification, identification);
  put(p, kFlags, flags);
  put(p, kFragmentOffset, fragment_offset);
  put(p, kTimeToLive, time_to_live);
  put(p, kProtocol, protocol);
  put(p, kChecksum, checksum);
  put(p, kSource, source);
  put(p, kDestination, destination);
}

// The header's ten words without the checksum, straight from the values: every packet sent needs
// it, and reading back what serialize() has just written would wait for the stores.
std::uint16_t Ipv4Header::computed_checksum() const {
  const std::uint32_t first = (version & 0xfu) << 12 | (header_words & 0xfu) << 8 | traffic_class;
  const std::uint32_t fragment = (flags & 7u) << 13 | (fragment_offset & 0x1fffu);
  const std::uint32_t life = static_cast<std::uint32_t>(time_to_live) << 8 | protocol;
  const std::uint32_t addresses =
      (source >> 16) + (source & 0xffff) + (destination >> 16) + (destination & 0xffff);
  return internet_checksum({}, first + total_length + identification + fragment + life + addresses);
}

std::uint16_t internet_checksum(ByteView bytes, std::uint32_t sum) {
  // Ones' complement addition may be done in wider words and folded at the end (RFC 1071, 2(C)).
  std::uint64_t wide = sum;
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 4; p += 4, left -= 4) wide += load_be32(p);
  if (left >= 2) {
    wide += load_be16(p);
    p += 2;
    left -= 2;
  }
  if (left == 1) wide += static_cast<std::uint64_t>(load_u8(p)) << 8;
  while (wide > 0xffff) wide = (wide >> 16) + (wide & 0xffff);
  return static_cast<std::uint16_t>(~wide);
}

}  // namespace softrnic::wire
