// SPDX-License-Identifier: BSD-3-Clause
#include "edit/network_header.hpp"

#include <algorithm>

#include "edit/link_header.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"
#include "wire/udp.hpp"

namespace softrnic::edit {
namespace {

using wire::Gid;
using wire::Ipv4Header;
using wire::Ipv6Header;
using wire::UdpHeader;

template <class Header>
void write(Bytes& part, const Header& header) {
  part.resize(Header::kSize);
  header.serialize(std::span<std::byte, Header::kSize>(part.data(), Header::kSize));
}

void store_gid(std::byte* p, const Gid& gid) {
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) wire::store_u8(p + i, gid.bytes[i]);
}

// Of a flow label in the source port that is made from it.
constexpr std::uint32_t kPortBits = 0x3fff;

// What all kinds have.
struct Common {
  explicit Common(const FrameParts& frame)
      : traffic(traffic_class(frame)),
        hops(time_to_live(frame)),
        source(frame.source()),
        destination(frame.destination()) {}

  std::uint8_t traffic;
  std::uint8_t hops;
  Gid source;
  Gid destination;
};

void write_ipv4(FrameParts& frame, const Common& common) {
  Ipv4Header ip;
  ip.traffic_class = common.traffic;
  ip.time_to_live = common.hops;
  ip.source = common.source.ipv4();
  ip.destination = common.destination.ipv4();
  write(frame.network, ip);
  frame.layer = Layer::ipv4;
  set_ethertype(frame, wire::ethertype::kIpv4);
}

void write_ipv6(FrameParts& frame, const Common& common, std::uint32_t flow_label, Layer layer) {
  Ipv6Header ip;
  ip.traffic_class = common.traffic;
  ip.hop_limit = common.hops;
  ip.flow_label = flow_label;
  ip.source = common.source;
  ip.destination = common.destination;
  if (layer == Layer::grh) ip.next_header = wire::ip_protocol::kGrhBth;
  write(frame.network, ip);
  frame.layer = layer;
  set_ethertype(frame, layer == Layer::grh ? wire::ethertype::kRoceV1 : wire::ethertype::kIpv6);
}

std::uint32_t flow_label(const FrameParts& frame) {
  if (frame.layer == Layer::ipv4) return 0;
  return static_cast<std::uint32_t>(wire::get(frame.network.data(), Ipv6Header::kFlowLabel));
}

// Ports that were made from a flow label begin at 0xc000 and hold its low 14 bits.
std::uint32_t label_of_port(const FrameParts& frame) {
  const auto port = static_cast<std::uint32_t>(wire::get(frame.udp.data(), UdpHeader::kSourcePort));
  return port >= 0xc000 ? port & kPortBits : port;
}

}  // namespace

std::uint8_t traffic_class(const FrameParts& frame) {
  const auto& field =
      frame.layer == Layer::ipv4 ? Ipv4Header::kTrafficClass : Ipv6Header::kTrafficClass;
  return static_cast<std::uint8_t>(wire::get(frame.network.data(), field));
}

void set_traffic_class(FrameParts& frame, std::uint8_t value) {
  const auto& field =
      frame.layer == Layer::ipv4 ? Ipv4Header::kTrafficClass : Ipv6Header::kTrafficClass;
  wire::put(frame.network.data(), field, value);
}

std::uint8_t time_to_live(const FrameParts& frame) {
  const auto& field = frame.layer == Layer::ipv4 ? Ipv4Header::kTimeToLive : Ipv6Header::kHopLimit;
  return static_cast<std::uint8_t>(wire::get(frame.network.data(), field));
}

void set_time_to_live(FrameParts& frame, std::uint8_t value) {
  const auto& field = frame.layer == Layer::ipv4 ? Ipv4Header::kTimeToLive : Ipv6Header::kHopLimit;
  wire::put(frame.network.data(), field, value);
}

void set_addresses(FrameParts& frame, const Gid& source, const Gid& destination) {
  std::byte* p = frame.network.data();
  if (frame.layer == Layer::ipv4) {
    wire::put(p, Ipv4Header::kSource, source.ipv4());
    wire::put(p, Ipv4Header::kDestination, destination.ipv4());
  } else {
    store_gid(p + Ipv6Header::kSourceOffset, source);
    store_gid(p + Ipv6Header::kDestinationOffset, destination);
  }
}

void become_ipv4(FrameParts& frame, bool keep_identification) {
  if (frame.layer == Layer::ipv4) return;
  const std::uint32_t label = flow_label(frame);
  // Its addresses are set by whoever calls.
  Common common(frame);
  common.source = common.destination = Gid::from_ipv4(0);
  write_ipv4(frame, common);
  if (keep_identification) {
    wire::put(frame.network.data(), Ipv4Header::kIdentification, label & 0xffff);
  }
  frame.set_lengths();
}

void become_ipv6(FrameParts& frame, bool keep_identification) {
  if (frame.layer == Layer::ipv6) return;
  const auto identification =
      static_cast<std::uint32_t>(wire::get(frame.network.data(), Ipv4Header::kIdentification));
  write_ipv6(frame, Common(frame), keep_identification ? identification : 0, Layer::ipv6);
  frame.set_lengths();
}

void become_v1(FrameParts& frame) {
  if (frame.layer == Layer::grh || !has_ethertype(frame.link_type)) return;
  const std::uint32_t label = flow_label(frame);
  write_ipv6(frame, Common(frame), label != 0 ? label : label_of_port(frame), Layer::grh);
  frame.udp.clear();
  frame.set_lengths();
}

void become_v2(FrameParts& frame) {
  if (frame.layer != Layer::grh) return;
  std::uint32_t label = flow_label(frame);
  const Common common(frame);
  UdpHeader udp;
  udp.source_port = wire::source_port_of_flow_label(label);
  // The port says all of a label as short as this.
  if (label <= kPortBits) label = 0;
  if (common.source.is_ipv4_mapped() && common.destination.is_ipv4_mapped()) {
    write_ipv4(frame, common);
  } else {
    write_ipv6(frame, common, label, Layer::ipv6);
  }
  write(frame.udp, udp);
  frame.set_lengths();
}

}  // namespace softrnic::edit
