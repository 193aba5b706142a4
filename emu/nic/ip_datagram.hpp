// SPDX-License-Identifier: BSD-3-Clause
// An IP datagram of either version, as the NIC's small protocols (ICMP, ICMPv6, neighbour
// discovery) take and send it. RoCE packets do not come this way.
#pragma once

#include <optional>

#include "nic/frame_sender.hpp"
#include "nic/interface_identity.hpp"
#include "wire/gid.hpp"

namespace softrnic::nic {

struct IpDatagram {
  wire::Gid source;  // an IPv4 address as mapped
  wire::Gid destination;
  std::uint8_t protocol = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  wire::ByteView payload;
  // IPv4, sent: routers are to look at it (RFC 2113). For IPv6 the payload begins with it.
  bool router_alert = false;

  bool is_ipv4() const { return destination.is_ipv4_mapped(); }
  std::size_t header_size() const;

  // `bytes`: from the IP header to the end of the frame. No value when malformed, a fragment, or
  // (IPv6) behind extension headers.
  static std::optional<IpDatagram> parse_ipv4(wire::ByteView bytes);
  static std::optional<IpDatagram> parse_ipv6(wire::ByteView bytes);

  // A frame of `frames` that carries it to `mac`; null when none is free or it does not fit.
  link::Frame* to_frame(const InterfaceIdentity& identity, const wire::MacAddress& mac,
                        FrameSender& frames) const;

 private:
  void write_header(wire::ByteSpan out, std::uint16_t identification) const;
};

}  // namespace softrnic::nic
