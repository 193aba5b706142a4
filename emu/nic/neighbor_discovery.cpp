// SPDX-License-Identifier: BSD-3-Clause
#include "nic/neighbor_discovery.hpp"

#include "wire/ipv4.hpp"

namespace softrnic::nic {
namespace {

using wire::Arp;
using wire::Gid;
using wire::MacAddress;
using wire::NeighborMessage;

// Proves that a message has crossed no router (RFC 4861, 7.1).
constexpr std::uint8_t kNeighborHopLimit = 255;
constexpr std::byte kSolicitationType{135};
constexpr std::byte kAdvertisementType{136};
constexpr Gid kAllNodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

}  // namespace

// What a neighbour may claim: one host's MAC address for one host's address that is not ours.
bool NeighborDiscovery::credible(const Gid& address, const MacAddress& mac) const {
  if (mac.is_multicast() || mac == MacAddress{} || mac == identity_.mac()) return false;
  if (address.is_zero() || address.is_multicast() || identity_.gids().owns(address)) return false;
  if (!address.is_ipv4_mapped()) return true;
  return address.ipv4() != 0 && address.ipv4() != 0xffffffff;
}

void NeighborDiscovery::on_arp(wire::Instant now, wire::ByteView bytes) {
  const auto arp = Arp::parse(bytes);
  if (!arp) return;
  const Gid sender = Gid::from_ipv4(arp->sender_ip);
  const bool asked =
      arp->operation == Arp::kRequest && identity_.gids().owns(Gid::from_ipv4(arp->target_ip));
  if (credible(sender, arp->sender_mac)) {
    // Who asks for us is about to be answered; all others only correct what we know.
    if (asked) {
      neighbors_.learn(sender, arp->sender_mac);
    } else {
      neighbors_.update(sender, arp->sender_mac);
    }
  }
  // A request from address zero looks for a duplicate (RFC 5227, 2.1.1) and is answered too.
  const bool answerable = !arp->sender_mac.is_multicast() && arp->sender_mac != identity_.mac();
  if (!asked || !answerable) return;
  send_arp(now, arp->sender_mac,
           {Arp::kReply, identity_.mac(), arp->target_ip, arp->sender_mac, arp->sender_ip});
}

bool NeighborDiscovery::on_datagram(wire::Instant now, const IpDatagram& datagram) {
  if (datagram.is_ipv4() || datagram.protocol != wire::ip_protocol::kIcmpv6) return false;
  if (datagram.payload.empty()) return false;
  const std::byte type = datagram.payload.front();
  if (type != kSolicitationType && type != kAdvertisementType) return false;
  if (datagram.hop_limit != kNeighborHopLimit) return true;
  const auto message =
      NeighborMessage::parse(datagram.payload, datagram.source, datagram.destination);
  if (!message) return true;
  if (message->advertisement) {
    on_advertisement(*message);
  } else {
    on_solicitation(now, datagram, *message);
  }
  return true;
}

void NeighborDiscovery::on_solicitation(wire::Instant now, const IpDatagram& datagram,
                                        const NeighborMessage& message) {
  if (!identity_.gids().owns(message.target)) return;
  NeighborMessage answer;
  answer.advertisement = true;
  answer.override_flag = true;
  answer.target = message.target;
  answer.link_address = identity_.mac();
  if (datagram.source.is_zero()) {
    // Someone looks for a duplicate of his new address: everyone hears that it is ours.
    send_message(now, wire::multicast_mac(kAllNodes), message.target, kAllNodes, answer);
    return;
  }
  answer.solicited = true;
  if (message.link_address && credible(datagram.source, *message.link_address)) {
    neighbors_.learn(datagram.source, *message.link_address);
    send_message(now, *message.link_address, message.target, datagram.source, answer);
    return;
  }
  // A unicast probe may leave its address out, for we must have it (RFC 4861, 7.2.4).
  const auto known = neighbors_.find(datagram.source);
  if (known && known->state == NeighborTable::State::reachable) {
    send_message(now, known->mac, message.target, datagram.source, answer);
  }
}

void NeighborDiscovery::on_advertisement(const NeighborMessage& message) {
  if (!message.link_address || !credible(message.target, *message.link_address)) return;
  const auto known = neighbors_.find(message.target);
  const bool replaces = !known || known->state != NeighborTable::State::reachable;
  // Without the override flag it does not replace what is known (RFC 4861, 7.2.5).
  if (replaces || message.override_flag) neighbors_.update(message.target, *message.link_address);
}

std::size_t NeighborDiscovery::send_probes(wire::Instant now, std::size_t most) {
  std::size_t sent = 0;
  while (sent < most) {
    const auto target = neighbors_.next_probe(now);
    if (!target) break;
    probe(now, *target);
    ++sent;
  }
  return sent;
}

void NeighborDiscovery::probe(wire::Instant now, const Gid& target) {
  const auto source = identity_.gids().source_for(target);
  if (!source) return;  // it fails after its probes, as an unreachable one does
  if (target.is_ipv4_mapped()) {
    send_arp(now, MacAddress::broadcast(),
             {Arp::kRequest, identity_.mac(), source->ipv4(), MacAddress{}, target.ipv4()});
    return;
  }
  NeighborMessage question;
  question.target = target;
  question.link_address = identity_.mac();
  const Gid group = wire::solicited_node_multicast(target);
  send_message(now, wire::multicast_mac(group), *source, group, question);
}

void NeighborDiscovery::announce(wire::Instant now) {
  for (const Gid& address : identity_.gids().addresses()) {
    if (address.is_ipv4_mapped()) {
      send_arp(now, MacAddress::broadcast(),
               {Arp::kRequest, identity_.mac(), address.ipv4(), MacAddress{}, address.ipv4()});
      continue;
    }
    NeighborMessage message;
    message.advertisement = true;
    message.override_flag = true;
    message.target = address;
    message.link_address = identity_.mac();
    send_message(now, wire::multicast_mac(kAllNodes), address, kAllNodes, message);
  }
}

void NeighborDiscovery::send_arp(wire::Instant now, const MacAddress& to, const Arp& arp) {
  link::Frame* frame = frames_.allocate();
  if (frame == nullptr) return;  // as lost on the wire
  const wire::EthernetHeader ethernet = identity_.header_to(to, wire::ethertype::kArp);
  // In front, where a frame's contiguous room is.
  const wire::ByteSpan bytes = frame->prepend(ethernet.size() + Arp::kSize);
  if (bytes.empty()) return frames_.cancel(frame);
  ethernet.serialize(bytes);
  arp.serialize(bytes.subspan(ethernet.size()).first<Arp::kSize>());
  frames_.send(now, frame);
}

void NeighborDiscovery::send_message(wire::Instant now, const MacAddress& to, const Gid& source,
                                     const Gid& destination, const NeighborMessage& message) {
  std::array<std::byte, NeighborMessage::kMaxSize> bytes;
  message.serialize(bytes, source, destination);
  IpDatagram datagram;
  datagram.source = source;
  datagram.destination = destination;
  datagram.protocol = wire::ip_protocol::kIcmpv6;
  datagram.hop_limit = kNeighborHopLimit;
  datagram.payload = wire::ByteView(bytes).first(message.size());
  link::Frame* frame = datagram.to_frame(identity_, to, frames_);
  if (frame != nullptr) frames_.send(now, frame);
}

}  // namespace softrnic::nic
