// SPDX-License-Identifier: BSD-3-Clause
#include "nic/frame_receiver.hpp"

namespace softrnic::nic {

FrameReceiver::FrameReceiver(const InterfaceIdentity& identity, PacketReceiver& packets,
                             NeighborDiscovery& discovery, EchoResponder& echo,
                             transport::Counters& counters, std::uint32_t mtu)
    : identity_(identity),
      packets_(packets),
      discovery_(discovery),
      echo_(echo),
      counters_(counters),
      joined_(mtu) {}

void FrameReceiver::receive(wire::Instant now, const link::Frame& frame) {
  const wire::ByteChain bytes = frame.bytes();
  const auto ethernet = wire::EthernetHeader::parse(bytes.front());
  if (!ethernet) {
    ++counters_.malformed_pkts;
    return;
  }
  if (!identity_.takes(ethernet->destination) || !identity_.takes(ethernet->vlan)) {
    ++counters_.not_for_us;
    return;
  }
  switch (ethernet->ethertype) {
    case wire::ethertype::kRoceV1:
    case wire::ethertype::kIpv4:
    case wire::ethertype::kIpv6:
      return on_ip(now, *ethernet, bytes);
    case wire::ethertype::kArp:
      return discovery_.on_arp(now, network_bytes(*ethernet, bytes));
    default:
      return;  // somebody else's protocol
  }
}

void FrameReceiver::on_ip(wire::Instant now, const wire::EthernetHeader& ethernet,
                          const wire::ByteChain& frame) {
  const auto packet = wire::PacketView::parse(frame);
  if (packet) return packets_.receive(now, *packet);
  if (packet.error() != wire::ParseError::not_roce) {
    ++counters_.malformed_pkts;
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
  if (!datagram || discovery_.on_datagram(now, *datagram)) return;
  if (!identity_.gids().owns(datagram->destination)) {
    // A group's or the subnet's, which a NIC hears all the time, is no one's mistake.
    if (ethernet.destination == identity_.mac()) ++counters_.not_for_us;
    return;
  }
  if (ethernet.destination == identity_.mac()) echo_.on_datagram(now, *datagram, ethernet.source);
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
