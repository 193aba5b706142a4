// SPDX-License-Identifier: BSD-3-Clause
#include "wire/address_vector.hpp"

namespace softrnic::wire {
namespace {

template <class Header>
std::size_t write(ByteSpan out, std::size_t offset, const Header& header) {
  header.serialize(std::span<std::byte, Header::kSize>(out.data() + offset, Header::kSize));
  return offset + Header::kSize;
}

std::size_t network_size(NetworkLayer layer) {
  return layer == NetworkLayer::ipv4 ? Ipv4Header::kSize : Ipv6Header::kSize;
}

std::uint16_t ethertype_of(NetworkLayer layer) {
  switch (layer) {
    case NetworkLayer::grh:
      return ethertype::kRoceV1;
    case NetworkLayer::ipv4:
      return ethertype::kIpv4;
    case NetworkLayer::ipv6:
      break;
  }
  return ethertype::kIpv6;
}

Ipv4Header ipv4_of(const AddressVector& av, std::size_t size, std::uint16_t identification) {
  Ipv4Header ip;
  ip.traffic_class = av.traffic_class;
  ip.total_length = static_cast<std::uint16_t>(Ipv4Header::kSize + size);
  ip.identification = identification;
  ip.time_to_live = av.hop_limit;
  ip.source = av.source.ipv4();
  ip.destination = av.destination.ipv4();
  ip.checksum = ip.computed_checksum();
  return ip;
}

// Also the GRH, which differs in the next header only.
Ipv6Header ipv6_of(const AddressVector& av, std::size_t size, std::uint8_t next_header) {
  Ipv6Header ip;
  ip.traffic_class = av.traffic_class;
  ip.flow_label = av.flow_label;
  ip.payload_length = static_cast<std::uint16_t>(size);
  ip.next_header = next_header;
  ip.hop_limit = av.hop_limit;
  ip.source = av.source;
  ip.destination = av.destination;
  return ip;
}

}  // namespace

NetworkLayer AddressVector::network_layer() const {
  if (version == RoceVersion::v1) return NetworkLayer::grh;
  return destination.is_ipv4_mapped() ? NetworkLayer::ipv4 : NetworkLayer::ipv6;
}

std::size_t AddressVector::size() const {
  return (vlan ? EthernetHeader::kMaxSize : EthernetHeader::kSize) + network_size(network_layer()) +
         (version == RoceVersion::v2 ? UdpHeader::kSize : 0);
}

std::size_t AddressVector::serialize(ByteSpan out, std::size_t transport_size,
                                     std::uint16_t ip_identification) const {
  const NetworkLayer layer = network_layer();
  const EthernetHeader ethernet{destination_mac, source_mac, vlan, ethertype_of(layer)};
  std::size_t offset = ethernet.serialize(out);
  if (layer == NetworkLayer::grh) {
    return write(out, offset, ipv6_of(*this, transport_size, ip_protocol::kGrhBth));
  }

  const std::size_t udp_size = UdpHeader::kSize + transport_size;
  offset = layer == NetworkLayer::ipv4
               ? write(out, offset, ipv4_of(*this, udp_size, ip_identification))
               : write(out, offset, ipv6_of(*this, udp_size, ip_protocol::kUdp));
  UdpHeader udp;
  udp.source_port = udp_source_port;
  udp.length = static_cast<std::uint16_t>(udp_size);
  return write(out, offset, udp);
}

}  // namespace softrnic::wire
