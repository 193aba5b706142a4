// SPDX-License-Identifier: BSD-3-Clause
// A frame as a UDP socket sends it: its payload, and what of its headers the socket can be told.
//
// The ICRC covers the IPv4 identification and flags and the UDP source port, which the kernel
// writes. adjust() makes it that of the packet the kernel will write; an ICRC that was wrong stays
// wrong by as much.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/bytes.hpp"
#include "wire/ethernet.hpp"
#include "wire/gid.hpp"
#include "wire/ipv6.hpp"
#include "wire/udp.hpp"

namespace softrnic::link {

struct UdpDatagram {
  wire::Gid source;
  wire::Gid destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint32_t fragment_word = 0;  // IPv4: identification, flags, fragment offset
  wire::ByteSpan payload;           // within the frame, right behind the headers

  // No value when the frame is no UDP packet without IPv4 options or IPv6 extension headers.
  static std::optional<UdpDatagram> read(wire::ByteSpan frame);

  bool is_ipv4() const { return destination.is_ipv4_mapped(); }
  // Of the whole frame, without a tag.
  std::size_t frame_size() const { return headers_size(is_ipv4()) + payload.size(); }
  // Ethernet, IP and UDP.
  static constexpr std::size_t headers_size(bool ipv4) {
    return wire::EthernetHeader::kSize +
           (ipv4 ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize) + wire::UdpHeader::kSize;
  }

  // To this identification with "don't fragment", and this source port; in the frame's headers too,
  // but for the IPv4 checksum, so that it may be read again.
  void adjust(std::uint16_t identification, std::uint16_t port);
};

}  // namespace softrnic::link
