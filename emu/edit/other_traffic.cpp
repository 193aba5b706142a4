// SPDX-License-Identifier: BSD-3-Clause
#include "edit/other_traffic.hpp"

#include <algorithm>

#include "edit/link_header.hpp"
#include "edit/network_header.hpp"
#include "wire/arp.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"

namespace softrnic::edit {
namespace {

using wire::Gid;

constexpr std::uint8_t kTcp = 6;

// Of neighbour discovery (RFC 4861, 4): where the options begin, and the target if there is one.
struct Discovery {
  std::size_t options = 0;
  std::size_t target = 0;
};

Discovery discovery_of(const FrameParts& frame) {
  if (frame.layer != Layer::ipv6 || frame.body.size() < 8) return {};
  if (wire::get(frame.network.data(), wire::Ipv6Header::kNextHeader) !=
      wire::ip_protocol::kIcmpv6) {
    return {};
  }
  switch (wire::load_u8(frame.body.data())) {
    case 133:  // router solicitation
      return {8, 0};
    case 134:  // router advertisement
      return {16, 0};
    case 135:  // neighbour solicitation
    case 136:  // neighbour advertisement
      return {24, 8};
    default:
      return {};
  }
}

Gid gid_at(const Bytes& body, std::size_t offset) {
  Gid gid;
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) {
    gid.bytes[i] = wire::load_u8(body.data() + offset + i);
  }
  return gid;
}

Gid solicited_node(const Gid& address) {
  Gid group{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};
  std::copy(address.bytes.begin() + 13, address.bytes.end(), group.bytes.begin() + 13);
  return group;
}

void translate_options(Bytes& body, std::size_t at, const Translation& t) {
  while (at + 8 <= body.size()) {
    const unsigned type = wire::load_u8(body.data() + at);
    const std::size_t size = std::size_t{wire::load_u8(body.data() + at + 1)} * 8;
    if (size == 0) return;
    if (type == 1 || type == 2) {  // source or target link-layer address
      std::byte* mac = body.data() + at + 2;
      wire::store_mac(mac, t.mac(wire::load_mac(mac), Side::source));
    }
    at += size;
  }
}

// What a group's address is made from has changed: so do the group and its MAC address.
void follow_target(FrameParts& frame, const Gid& target) {
  constexpr std::size_t kLow = 13;
  const Gid group = solicited_node(target);
  set_addresses(frame, frame.source(), group);
  if (frame.link_type != capture::LinkType::ethernet || frame.link.size() < 6) return;
  if (wire::load_be24(frame.link.data()) != 0x3333ff) return;
  for (std::size_t i = 0; i < 3; ++i) {
    wire::store_u8(frame.link.data() + 3 + i, group.bytes[kLow + i]);
  }
}

void translate_discovery(FrameParts& frame, const Discovery& discovery, const Translation& t,
                         const Gid& destination) {
  translate_options(frame.body, discovery.options, t);
  if (discovery.target == 0 || frame.body.size() < discovery.target + 16) return;
  const Gid before = gid_at(frame.body, discovery.target);
  const Gid after = t.address(before, Side::destination);
  if (after.is_ipv4_mapped()) return;
  for (std::size_t i = 0; i < after.bytes.size(); ++i) {
    wire::store_u8(frame.body.data() + discovery.target + i, after.bytes[i]);
  }
  if (destination == solicited_node(before)) follow_target(frame, after);
}

Translated translate_ip(FrameParts& frame, const Translation& t) {
  const Gid source = frame.source();
  const Gid destination = frame.destination();
  const Gid new_source = t.address(source, Side::source);
  const Gid new_destination = t.address(destination, Side::destination);
  const bool v4 = frame.layer == Layer::ipv4;
  if (new_source.is_ipv4_mapped() != v4 || new_destination.is_ipv4_mapped() != v4) {
    return Translated::left;
  }
  set_addresses(frame, new_source, new_destination);
  const Discovery discovery = discovery_of(frame);
  if (discovery.options != 0) translate_discovery(frame, discovery, t, destination);
  return Translated::done;
}

Translated translate_arp(FrameParts& frame, const Translation& t) {
  auto arp = wire::Arp::parse(frame.body);
  if (!arp) return Translated::done;
  const Gid sender = t.address(Gid::from_ipv4(arp->sender_ip), Side::source);
  const Gid target = t.address(Gid::from_ipv4(arp->target_ip), Side::destination);
  if (!sender.is_ipv4_mapped() || !target.is_ipv4_mapped()) return Translated::left;
  arp->sender_ip = sender.ipv4();
  arp->target_ip = target.ipv4();
  arp->sender_mac = t.mac(arp->sender_mac, Side::source);
  // Zero where it is asked for (RFC 826).
  if (arp->target_mac != wire::MacAddress{}) {
    arp->target_mac = t.mac(arp->target_mac, Side::destination);
  }
  arp->serialize(std::span<std::byte, wire::Arp::kSize>(frame.body.data(), wire::Arp::kSize));
  return Translated::done;
}

// Bytes behind the IP header that say nothing of an application.
std::size_t known_header(const FrameParts& frame) {
  if (frame.layer == Layer::arp) return wire::Arp::kSize;
  if (frame.layer == Layer::none || frame.layer == Layer::grh) return 0;
  if (const Discovery discovery = discovery_of(frame); discovery.target != 0) {
    return frame.body.size();
  }
  const auto& field =
      frame.layer == Layer::ipv4 ? wire::Ipv4Header::kProtocol : wire::Ipv6Header::kNextHeader;
  switch (wire::get(frame.network.data(), field)) {
    case wire::ip_protocol::kUdp:
    case wire::ip_protocol::kIcmp:
    case wire::ip_protocol::kIcmpv6:
      return 8;
    case kTcp:
      return 20;
    default:
      return 0;
  }
}

}  // namespace

Translated translate_other(FrameParts& frame, const Translation& translation) {
  translate_link(frame, translation);
  switch (frame.layer) {
    case Layer::ipv4:
    case Layer::ipv6:
      return translate_ip(frame, translation);
    case Layer::arp:
      return translate_arp(frame, translation);
    default:
      return Translated::done;
  }
}

void erase_other_payload(FrameParts& frame) {
  const std::size_t kept = std::min(known_header(frame), frame.body.size());
  std::ranges::fill(wire::ByteSpan(frame.body).subspan(kept), std::byte{});
  std::ranges::fill(frame.trailer, std::byte{});
}

}  // namespace softrnic::edit
