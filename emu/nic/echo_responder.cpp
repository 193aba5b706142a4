// SPDX-License-Identifier: BSD-3-Clause
#include "nic/echo_responder.hpp"

#include "wire/ipv4.hpp"

namespace softrnic::nic {

EchoResponder::EchoResponder(const InterfaceIdentity& identity, NeighborTable& neighbors,
                             FrameSender& frames, ResolutionQueue& resolution,
                             transport::Counters& counters, std::uint32_t mtu)
    : identity_(identity),
      neighbors_(neighbors),
      frames_(frames),
      resolution_(resolution),
      counters_(counters),
      message_(mtu) {}

void EchoResponder::on_datagram(wire::Instant now, const IpDatagram& datagram,
                                const wire::MacAddress& mac) {
  const wire::Gid& source = datagram.source;
  std::optional<wire::Echo> echo;
  if (datagram.is_ipv4() && datagram.protocol == wire::ip_protocol::kIcmp) {
    echo = wire::Echo::parse_icmp(datagram.payload);
  } else if (!datagram.is_ipv4() && datagram.protocol == wire::ip_protocol::kIcmpv6) {
    echo = wire::Echo::parse_icmpv6(datagram.payload, source, datagram.destination);
  }
  if (!echo) return;
  if (echo->reply) {
    if (callback_) callback_(now, source, echo->identifier, echo->sequence, echo->data);
    return;
  }
  // Never to a group or to no one (RFC 1122, 3.2.2.6; RFC 4443, 2.4 e).
  if (mac.is_multicast() || source.is_multicast() || source.is_zero() ||
      (source.is_ipv4_mapped() && (source.ipv4() == 0 || source.ipv4() == 0xffffffff))) {
    return;
  }
  echo->reply = true;
  auto answer = compose(datagram.destination, source, *echo);
  if (!answer) return;
  answer->traffic_class = datagram.traffic_class;
  const bool to_ourselves = identity_.gids().owns(source);
  if (to_ourselves && (mac != identity_.mac() || !frames_.can_loop())) return;
  link::Frame* frame = answer->to_frame(identity_, mac, frames_);
  if (frame == nullptr) return;
  if (to_ourselves) {
    frames_.loop(frame);
  } else {
    frames_.send(now, frame);
  }
}

bool EchoResponder::request(wire::Instant now, const wire::Gid& destination,
                            std::uint16_t identifier, std::uint16_t sequence, wire::ByteView data) {
  const auto source = identity_.gids().source_for(destination);
  if (!source) return false;
  wire::Echo echo;
  echo.identifier = identifier;
  echo.sequence = sequence;
  echo.data = data;
  const auto datagram = compose(*source, destination, echo);
  if (!datagram) return false;

  const bool to_ourselves = identity_.gids().owns(destination);
  NeighborTable::Lookup next{NeighborTable::State::reachable, identity_.mac()};
  if (destination.is_multicast()) {
    next.mac = wire::multicast_mac(destination);
  } else if (!to_ourselves) {
    next = neighbors_.lookup(now, destination);
  }
  if (next.state == NeighborTable::State::failed) {
    ++counters_.tx_unresolved;
    return true;
  }
  if (to_ourselves && !frames_.can_loop()) return false;
  link::Frame* frame = datagram->to_frame(identity_, next.mac, frames_);
  if (frame == nullptr) return false;
  if (to_ourselves) {
    frames_.loop(frame);
  } else if (next.state == NeighborTable::State::resolving) {
    resolution_.park(frame, destination);
  } else {
    frames_.send(now, frame);
    frames_.flush(now);
  }
  return true;
}

std::optional<IpDatagram> EchoResponder::compose(const wire::Gid& source,
                                                 const wire::Gid& destination,
                                                 const wire::Echo& echo) {
  IpDatagram datagram;
  datagram.source = source;
  datagram.destination = destination;
  if (datagram.header_size() + echo.size() > message_.size()) return std::nullopt;
  const wire::ByteSpan out = wire::ByteSpan(message_).first(echo.size());
  if (datagram.is_ipv4()) {
    datagram.protocol = wire::ip_protocol::kIcmp;
    echo.serialize_icmp(out);
  } else {
    datagram.protocol = wire::ip_protocol::kIcmpv6;
    echo.serialize_icmpv6(out, source, destination);
  }
  datagram.payload = out;
  return datagram;
}

}  // namespace softrnic::nic
