// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_neighbors.hpp"

#include <algorithm>

#include "wire/arp.hpp"
#include "wire/icmp.hpp"
#include "wire/ipv6.hpp"

namespace softrnic::link {

namespace {

using wire::Arp;
using wire::EthernetHeader;
using wire::Gid;
using wire::Ipv6Header;
using wire::MacAddress;
using wire::NeighborMessage;

constexpr std::uint8_t kNeighborHopLimit = 255;  // RFC 4861, 7.1

NeighborTalk answer_arp(wire::ByteView bytes, const EthernetHeader& ethernet, const Gid& own,
                        Frame& answer) {
  const auto question = Arp::parse(bytes);
  if (!question || question->operation != Arp::kRequest) return NeighborTalk::hushed;
  const Gid target = Gid::from_ipv4(question->target_ip);
  if (target == own) return NeighborTalk::hushed;
  const MacAddress mac = stand_in_mac(target);
  const EthernetHeader header{ethernet.source, mac, ethernet.vlan, wire::ethertype::kArp};
  const wire::ByteSpan out = answer.prepend(header.size() + Arp::kSize);
  if (out.empty()) return NeighborTalk::hushed;
  header.serialize(out);
  Arp{Arp::kReply, mac, question->target_ip, question->sender_mac, question->sender_ip}.serialize(
      out.subspan(header.size()).first<Arp::kSize>());
  return NeighborTalk::answered;
}

void advertise(const Gid& target, const Gid& to, const EthernetHeader& question, Frame& answer) {
  NeighborMessage message;
  message.advertisement = true;
  message.solicited = true;
  message.override_flag = true;
  message.target = target;
  message.link_address = stand_in_mac(target);
  const EthernetHeader header{question.source, *message.link_address, question.vlan,
                              wire::ethertype::kIpv6};
  const wire::ByteSpan out = answer.prepend(header.size() + Ipv6Header::kSize + message.size());
  if (out.empty()) return;
  Ipv6Header ip;
  ip.payload_length = static_cast<std::uint16_t>(message.size());
  ip.next_header = wire::ip_protocol::kIcmpv6;
  ip.hop_limit = kNeighborHopLimit;
  ip.source = target;
  ip.destination = to;
  header.serialize(out);
  ip.serialize(out.subspan(header.size()).first<Ipv6Header::kSize>());
  message.serialize(out.subspan(header.size() + Ipv6Header::kSize), ip.source, ip.destination);
}

// ICMPv6 between neighbours, and to their routers, has no other use here.
NeighborTalk answer_ipv6(wire::ByteView bytes, const EthernetHeader& ethernet, const Gid& own,
                         Frame& answer) {
  if (bytes.size() < Ipv6Header::kSize) return NeighborTalk::none;
  const Ipv6Header ip = Ipv6Header::parse(bytes.first<Ipv6Header::kSize>());
  if (ip.next_header == wire::ip_protocol::kHopByHop) return NeighborTalk::hushed;  // MLD
  if (ip.next_header != wire::ip_protocol::kIcmpv6) return NeighborTalk::none;
  const wire::ByteView behind = bytes.subspan(Ipv6Header::kSize);
  const auto message =
      NeighborMessage::parse(behind.first(std::min<std::size_t>(behind.size(), ip.payload_length)),
                             ip.source, ip.destination);
  if (!message) return NeighborTalk::none;
  const bool asks = !message->advertisement && message->target != own && !ip.source.is_zero();
  if (!asks) return NeighborTalk::hushed;
  advertise(message->target, ip.source, ethernet, answer);
  return NeighborTalk::answered;
}

bool is_igmp(wire::ByteView bytes) {
  return bytes.size() >= wire::Ipv4Header::kSize &&
         wire::Ipv4Header::parse(bytes.first<wire::Ipv4Header::kSize>()).protocol ==
             wire::ip_protocol::kIgmp;
}

}  // namespace

MacAddress stand_in_mac(const Gid& ip) {
  MacAddress mac{{0x02, 0, ip.bytes[12], ip.bytes[13], ip.bytes[14], ip.bytes[15]}};
  if (ip.is_ipv4_mapped()) return mac;
  // FNV-1a, of which five bytes are kept.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : ip.bytes) hash = (hash ^ byte) * 0x100000001b3;
  for (std::size_t i = 1; i < mac.bytes.size(); ++i) {
    mac.bytes[i] = static_cast<std::uint8_t>(hash >> (8 * i));
  }
  return mac;
}

bool may_be_neighbor_talk(wire::ByteView frame) {
  constexpr std::size_t kType = 12;
  constexpr std::size_t kProtocol = wire::EthernetHeader::kSize + 9;    // IPv4
  constexpr std::size_t kNextHeader = wire::EthernetHeader::kSize + 6;  // IPv6
  if (frame.size() <= kProtocol) return false;
  const std::uint16_t type = wire::load_be16(frame.data() + kType);
  const std::size_t at = type == wire::ethertype::kIpv4 ? kProtocol : kNextHeader;
  const bool is_ip = type == wire::ethertype::kIpv4 || type == wire::ethertype::kIpv6;
  return !is_ip || wire::load_u8(frame.data() + at) != wire::ip_protocol::kUdp;
}

NeighborTalk answer_neighbor_question(wire::ByteView question, const Gid& own, Frame& answer) {
  const auto ethernet = EthernetHeader::parse(question);
  if (!ethernet) return NeighborTalk::none;
  const wire::ByteView bytes = question.subspan(ethernet->size());
  switch (ethernet->ethertype) {
    case wire::ethertype::kArp:
      return answer_arp(bytes, *ethernet, own, answer);
    case wire::ethertype::kIpv6:
      return answer_ipv6(bytes, *ethernet, own, answer);
    case wire::ethertype::kIpv4:
      return is_igmp(bytes) ? NeighborTalk::hushed : NeighborTalk::none;
    default:
      return NeighborTalk::none;
  }
}

}  // namespace softrnic::link
