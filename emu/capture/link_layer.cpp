// SPDX-License-Identifier: BSD-3-Clause
#include "capture/link_layer.hpp"

#include "capture/tunnel.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::capture {
namespace {

constexpr std::uint16_t kServiceTag = 0x88a8;  // IEEE 802.1ad
constexpr std::uint16_t kOldServiceTag = 0x9100;

bool is_tag(std::uint16_t ethertype) {
  return ethertype == wire::ethertype::kVlan || ethertype == kServiceTag ||
         ethertype == kOldServiceTag;
}

// The EtherType at `offset`, and behind it, if it is one, the tag's.
std::optional<NetworkStart> behind_tags(wire::ByteView record, std::size_t offset) {
  while (offset + 2 <= record.size()) {
    const std::uint16_t ethertype = wire::load_be16(record.data() + offset);
    offset += 2;
    if (!is_tag(ethertype)) return NetworkStart{ethertype, offset};
    offset += 2;  // priority and VLAN
  }
  return std::nullopt;
}

// The kernel may have left a tag between header and packet, so that the protocol is a tag's.
std::optional<NetworkStart> behind_cooked(wire::ByteView record, std::size_t protocol,
                                          std::size_t header) {
  if (record.size() < header) return std::nullopt;
  const std::uint16_t ethertype = wire::load_be16(record.data() + protocol);
  if (is_tag(ethertype)) return behind_tags(record, header + 2);
  return NetworkStart{ethertype, header};
}

std::optional<NetworkStart> by_ip_version(wire::ByteView record) {
  if (record.empty()) return std::nullopt;
  switch (wire::load_u8(record.data()) >> 4) {
    case 4:
      return NetworkStart{wire::ethertype::kIpv4, 0};
    case 6:
      return NetworkStart{wire::ethertype::kIpv6, 0};
    default:
      return NetworkStart{};
  }
}

// A header of 16 bytes, extension headers of 8 as long as the highest bit says that one follows,
// and, for Ethernet, two bytes before the frame (Endace, "ERF types").
std::optional<NetworkStart> in_erf(wire::ByteView record) {
  constexpr std::size_t kHeader = 16;
  constexpr std::size_t kExtension = 8;
  constexpr std::size_t kEthernetPad = 2;
  constexpr std::size_t kMacAddresses = 12;
  constexpr unsigned kMore = 0x80;
  if (record.size() < kHeader) return std::nullopt;
  const unsigned type = wire::load_u8(record.data() + 8);
  std::size_t offset = kHeader;
  bool more = (type & kMore) != 0;
  while (more) {
    if (offset + kExtension > record.size()) return std::nullopt;
    more = (wire::load_u8(record.data() + offset) & kMore) != 0;
    offset += kExtension;
  }
  switch (type & 0x7f) {
    case 2:   // ETH
    case 11:  // COLOR_ETH
    case 16:  // DSM_COLOR_ETH
    case 20:  // COLOR_HASH_ETH
      return behind_tags(record, offset + kEthernetPad + kMacAddresses);
    case 21:  // INFINIBAND; behind the wire's bytes the record may be padded
      return NetworkStart{
          .offset = offset, .native = true, .end = offset + wire::load_be16(record.data() + 14)};
    case 22:  // IPV4
      return NetworkStart{.ethertype = wire::ethertype::kIpv4, .offset = offset};
    case 23:  // IPV6
      return NetworkStart{.ethertype = wire::ethertype::kIpv6, .offset = offset};
    default:
      return NetworkStart{};
  }
}

std::optional<NetworkStart> outermost(LinkType link_type, wire::ByteView record) {
  constexpr std::size_t kMacAddresses = 12;
  switch (link_type) {
    case LinkType::ethernet:
      return behind_tags(record, kMacAddresses);
    case LinkType::linux_cooked:
      return behind_cooked(record, 14, 16);
    case LinkType::linux_cooked_2:
      return behind_cooked(record, 0, 20);
    case LinkType::raw_ip:
      return by_ip_version(record);
    case LinkType::erf:
      return in_erf(record);
    case LinkType::infiniband:
      return NetworkStart{.native = true};
    case LinkType::other:
      return NetworkStart{};
  }
  return std::nullopt;
}

}  // namespace

std::optional<NetworkStart> behind_ethernet(wire::ByteView record, std::size_t offset) {
  constexpr std::size_t kMacAddresses = 12;
  return behind_tags(record, offset + kMacAddresses);
}

std::uint16_t registry_number(LinkType link_type) {
  switch (link_type) {
    case LinkType::ethernet:
      return 1;
    case LinkType::linux_cooked:
      return 113;
    case LinkType::linux_cooked_2:
      return 276;
    case LinkType::raw_ip:
      return 101;
    case LinkType::erf:
      return 197;
    case LinkType::infiniband:
      return 247;
    case LinkType::other:
      return 147;  // of those for private use
  }
  return 1;
}

std::optional<LinkType> link_type_of(std::uint32_t number) {
  constexpr std::uint32_t kIpv4 = 228;
  constexpr std::uint32_t kIpv6 = 229;
  if (number == kIpv4 || number == kIpv6) return LinkType::raw_ip;
  for (const LinkType type : {LinkType::ethernet, LinkType::linux_cooked, LinkType::linux_cooked_2,
                              LinkType::raw_ip, LinkType::erf, LinkType::infiniband}) {
    if (number == registry_number(type)) return type;
  }
  return std::nullopt;
}

std::optional<NetworkStart> find_network(LinkType link_type, wire::ByteView record) {
  const auto start = outermost(link_type, record);
  if (!start) return std::nullopt;
  return behind_tunnels(record, *start);
}

}  // namespace softrnic::capture
