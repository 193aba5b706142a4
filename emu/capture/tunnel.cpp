// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tunnel.hpp"

#include "wire/ethernet.hpp"
#include "wire/ipv4.hpp"
#include "wire/udp.hpp"

namespace softrnic::capture {
namespace {

constexpr int kDeepest = 4;  // tunnels in tunnels
constexpr std::uint8_t kGre = 47;
constexpr std::uint16_t kVxlanPort = 4789;   // RFC 7348
constexpr std::uint16_t kGenevePort = 6081;  // RFC 8926
constexpr std::uint16_t kErspan = 0x88be;    // types I and II
constexpr std::uint16_t kErspan3 = 0x22eb;
constexpr std::uint16_t kBridged = 0x6558;  // an Ethernet frame

class Outer {
 public:
  Outer(wire::ByteView record, std::size_t at) : record_(record), at_(at) {}

  bool has(std::size_t bytes) const { return at_ + bytes <= record_.size(); }
  std::uint8_t u8(std::size_t offset) const { return wire::load_u8(record_.data() + at_ + offset); }
  std::uint16_t be16(std::size_t offset) const {
    return wire::load_be16(record_.data() + at_ + offset);
  }
  void skip(std::size_t bytes) { at_ += bytes; }
  std::size_t offset() const { return at_; }
  std::optional<NetworkStart> ethernet() const { return behind_ethernet(record_, at_); }

 private:
  wire::ByteView record_;
  std::size_t at_;
};

std::optional<NetworkStart> packet_of(const Outer& outer, std::uint16_t ethertype) {
  switch (ethertype) {
    case kBridged:
      return outer.ethernet();
    case wire::ethertype::kIpv4:
    case wire::ethertype::kIpv6:
      // What was not captured of the tunnel's own header may be longer than the record.
      if (!outer.has(1)) return std::nullopt;
      return NetworkStart{ethertype, outer.offset()};
    default:
      return std::nullopt;
  }
}

// RFC 2784 and 2890; ERSPAN: draft-foschiano-erspan. Type I has neither sequence number nor header.
std::optional<NetworkStart> in_gre(Outer outer) {
  constexpr std::uint16_t kChecksum = 0x8000;
  constexpr std::uint16_t kKey = 0x2000;
  constexpr std::uint16_t kSequence = 0x1000;
  constexpr std::uint16_t kVersion = 0x0007;
  if (!outer.has(4)) return std::nullopt;
  const std::uint16_t flags = outer.be16(0);
  const std::uint16_t protocol = outer.be16(2);
  if ((flags & kVersion) != 0) return std::nullopt;
  outer.skip(4);
  for (const std::uint16_t optional : {kChecksum, kKey, kSequence}) {
    if ((flags & optional) != 0) outer.skip(4);
  }
  if (protocol == kErspan) {
    if ((flags & kSequence) != 0) outer.skip(8);
    return outer.ethernet();
  }
  if (protocol == kErspan3) {
    constexpr std::uint8_t kPlatformHeader = 1;
    if (!outer.has(12)) return std::nullopt;
    const bool more = (outer.u8(11) & kPlatformHeader) != 0;
    outer.skip(more ? 20 : 12);
    return outer.ethernet();
  }
  return packet_of(outer, protocol);
}

std::optional<NetworkStart> in_udp(Outer outer) {
  if (!outer.has(wire::UdpHeader::kSize + 8)) return std::nullopt;
  const std::uint16_t port = outer.be16(2);
  outer.skip(wire::UdpHeader::kSize);
  if (port == kVxlanPort) {
    constexpr std::uint8_t kHasNetwork = 0x08;
    if ((outer.u8(0) & kHasNetwork) == 0) return std::nullopt;
    outer.skip(8);
    return outer.ethernet();
  }
  if (port == kGenevePort) {
    const std::uint16_t protocol = outer.be16(2);
    outer.skip(8 + std::size_t{outer.u8(0) & 0x3fu} * 4);
    return packet_of(outer, protocol);
  }
  return std::nullopt;
}

std::optional<NetworkStart> inside(wire::ByteView record, const NetworkStart& start) {
  Outer outer(record, start.offset);
  std::uint8_t protocol = 0;
  if (start.ethertype == wire::ethertype::kIpv4) {
    if (!outer.has(20) || (outer.u8(0) & 0xf) < 5) return std::nullopt;
    protocol = outer.u8(9);
    if ((outer.be16(6) & 0x1fff) != 0) return std::nullopt;  // a later fragment
    outer.skip(std::size_t{outer.u8(0) & 0xfu} * 4);
  } else if (start.ethertype == wire::ethertype::kIpv6) {
    if (!outer.has(40)) return std::nullopt;
    protocol = outer.u8(6);
    outer.skip(40);
  }
  if (protocol == kGre) return in_gre(outer);
  if (protocol == wire::ip_protocol::kUdp) return in_udp(outer);
  return std::nullopt;
}

}  // namespace

NetworkStart behind_tunnels(wire::ByteView record, NetworkStart outer) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto inner = inside(record, outer);
    if (!inner) break;
    outer = *inner;
    outer.tunnelled = true;
  }
  return outer;
}

}  // namespace softrnic::capture
