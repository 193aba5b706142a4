// SPDX-License-Identifier: BSD-3-Clause
#include "nic/frame_receiver.hpp"

namespace softrnic::nic {

bool FrameReceiver::takes(const wire::EthernetHeader& ethernet) const {
  const bool ours = parts_.identity.takes(ethernet.destination) ||
                    parts_.groups.takes(ethernet.destination) ||
                    parts_.membership.takes(ethernet.destination);
  return ours && parts_.identity.takes(ethernet.vlan);
}

void FrameReceiver::receive(wire::Instant now, const link::Frame& frame) {
  if (frame.identification_inferred) ++parts_.counters.icrc_id_inferred;
  const wire::ByteChain bytes = frame.bytes();
  const auto ethernet = wire::EthernetHeader::parse(bytes.front());
  if (!ethernet) {
    ++parts_.counters.malformed_pkts;
    return;
  }
  if (!takes(*ethernet)) {
    ++parts_.counters.not_for_us;
    return;
  }
  switch (ethernet->ethertype) {
    case wire::ethertype::kRoceV1:
    case wire::ethertype::kIpv4:
    case wire::ethertype::kIpv6:
      return on_ip(now, *ethernet, bytes);
    case wire::ethertype::kArp:
      return parts_.discovery.on_arp(now, network_bytes(*ethernet, bytes));
    default:
      return;  // somebody else's protocol
  }
}

void FrameReceiver::on_ip(wire::Instant now, const wire::EthernetHeader& ethernet,
                          const wire::ByteChain& frame) {
  const auto packet = wire::PacketView::parse(frame);
  if (packet) return parts_.packets.receive(now, *packet);
  if (packet.error() != wire::ParseError::not_roce) {
    ++parts_.counters.malformed_pkts;
    return;
  }
  on_datagram(now, ethernet, frame);
}

void FrameReceiver::on_datagram(wire::Instant now, const wire::EthernetHeader& ethernet,
                                const wire::ByteChain& frame) {
  const wire::ByteView bytes = network_bytes(ethernet, frame);
  std::optional<IpDatagram> datagram;
  if (ethernet.ethertype == wire::ethertype::kIpv4) datagram = IpDatagram::parse_ipv4(bytes);
  if (ethernet.ethertype == wire::ethertype::kIpv6) datagram = IpDatagram::parse_ipv6(bytes);
  if (!datagram || parts_.discovery.on_datagram(now, *datagram)) return;
  if (parts_.membership.on_datagram(now, *datagram)) return;
  if (!parts_.identity.gids().owns(datagram->destination)) {
    // A group's or the subnet's, which a NIC hears all the time, is no one's mistake.
    if (ethernet.destination == parts_.identity.mac()) ++parts_.counters.not_for_us;
    return;
  }
  if (ethernet.destination == parts_.identity.mac())
    parts_.echo.on_datagram(now, *datagram, ethernet.source);
}

wire::ByteView FrameReceiver::network_bytes(const wire::EthernetHeader& ethernet,
                                            const wire::ByteChain& frame) {
  if (frame.pieces().size() == 1) return frame.front().subspan(ethernet.size());
  const std::size_t size = frame.size() - ethernet.size();
  if (size > joined_.size()) return {};
  frame.copy_to(ethernet.size(), wire::ByteSpan(joined_).first(size));
  return wire::ByteView(joined_).first(size);
}

}  // namespace softrnic::nic
