// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/icrc.hpp"

#include <cstring>

#include "wire/icrc.hpp"

namespace softrnic::dissector {
namespace {

using Obstacle = IcrcCheck::Obstacle;
using Verdict = IcrcCheck::Verdict;

bool equals(const std::byte* bytes, const address& address, int size) {
  return address.len == size &&
         std::memcmp(bytes, address.data, static_cast<std::size_t>(size)) == 0;
}

bool is_ipv4_header(const std::byte* p, unsigned size, const packet_info& pinfo) {
  return wire::load_u8(p) == (0x40 | size / 4) &&
         wire::get(p, wire::Ipv4Header::kProtocol) == wire::ip_protocol::kUdp &&
         equals(p + wire::Ipv4Header::kSource.bit_offset / 8, pinfo.net_src, 4) &&
         equals(p + wire::Ipv4Header::kDestination.bit_offset / 8, pinfo.net_dst, 4);
}

bool is_ipv6_header(const std::byte* p, const packet_info& pinfo) {
  return wire::get(p, wire::Ipv6Header::kVersion) == 6 &&
         wire::get(p, wire::Ipv6Header::kNextHeader) == wire::ip_protocol::kUdp &&
         equals(p + wire::Ipv6Header::kSourceOffset, pinfo.net_src, 16) &&
         equals(p + wire::Ipv6Header::kDestinationOffset, pinfo.net_dst, 16);
}

// How many bytes the IP header takes that ends `available` bytes into `before`, where the UDP
// header stands; 0 when there is none. It is known by the addresses, which Wireshark has read.
unsigned ip_header_size(const std::byte* udp, unsigned available, const packet_info& pinfo,
                        wire::NetworkLayer layer) {
  if (layer == wire::NetworkLayer::ipv6) {
    constexpr unsigned kSize = wire::Ipv6Header::kSize;
    return available >= kSize && is_ipv6_header(udp - kSize, pinfo) ? kSize : 0;
  }
  for (unsigned size = wire::Ipv4Header::kSize; size <= 60 && size <= available; size += 4) {
    if (is_ipv4_header(udp - size, size, pinfo)) return size;
  }
  return 0;
}

// Bytes from the network header to the BTH, which lie before it in the same buffer; 0: not found.
unsigned bytes_before_bth(const Packet& packet, const packet_info& pinfo) {
  if (packet.version == wire::RoceVersion::v1) return packet.bth_offset;
  // The tvbuff begins inside the frame's, and its bytes are the frame's bytes.
  tvbuff_t* frame = tvb_get_ds_tvb(packet.tvb);
  const int offset = tvb_raw_offset(packet.tvb);
  constexpr unsigned kUdp = wire::UdpHeader::kSize;
  if (frame == nullptr || offset < static_cast<int>(kUdp) ||
      static_cast<unsigned>(offset) + packet.captured > tvb_captured_length(frame)) {
    return 0;
  }
  const auto* start = reinterpret_cast<const std::byte*>(
      tvb_get_ptr(frame, 0, static_cast<int>(tvb_captured_length(frame))));
  if (start + offset != packet.bytes) return 0;
  const unsigned ip = ip_header_size(packet.bytes - kUdp, static_cast<unsigned>(offset) - kUdp,
                                     pinfo, packet.network_layer);
  return ip == 0 ? 0 : ip + kUdp;
}

bool has_ip_options(const Packet& packet, unsigned before) {
  return packet.network_layer == wire::NetworkLayer::ipv4 &&
         before != wire::Ipv4Header::kSize + wire::UdpHeader::kSize;
}

// The sum over a packet that is all there.
void sum(const Packet& packet, unsigned before, IcrcCheck& check) {
  // Only the BTH need be among the headers, as nothing behind it is masked.
  const std::byte* start = packet.bytes - before;
  const unsigned headers = before + wire::Bth::kSize;
  check.calculated =
      wire::icrc(packet.network_layer, wire::ByteView(start, headers), before,
                 wire::ByteView(start + headers, packet.icrc_offset - wire::Bth::kSize));
  check.verdict = check.carried == check.calculated ? Verdict::good : Verdict::bad;
  if (check.verdict == Verdict::bad && has_ip_options(packet, before)) {
    check.verdict = Verdict::unverified;
    check.obstacle = Obstacle::ip_options;
    return;
  }
  check.summed = wire::ByteView(start, before + packet.icrc_offset);
  check.bth_in_summed = before;
}

}  // namespace

IcrcCheck check_icrc(const Packet& packet, const packet_info& pinfo) {
  IcrcCheck check;
  check.obstacle = Obstacle::cut_short;
  if (!packet.has_bth) return check;
  const unsigned before = bytes_before_bth(packet, pinfo);
  if (before != 0) check.network_header = packet.bytes - before;
  if (packet.cut_short() || packet.icrc_offset < wire::Bth::kSize ||
      packet.defect == Defect::grh_length) {
    return check;
  }
  check.carried = wire::load_icrc(packet.bytes + packet.icrc_offset);
  check.obstacle = before == 0 ? Obstacle::no_network_header : Obstacle::none;
  if (before != 0) sum(packet, before, check);
  return check;
}

}  // namespace softrnic::dissector
