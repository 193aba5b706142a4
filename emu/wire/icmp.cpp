// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icmp.hpp"

#include <algorithm>
#include <cstring>

#include "wire/ipv4.hpp"

namespace softrnic::wire {
namespace {

constexpr std::size_t kChecksumOffset = 2;
constexpr std::size_t kIdentifierOffset = 4;
constexpr std::size_t kSequenceOffset = 6;

constexpr std::uint8_t kIcmpEchoReply = 0;
constexpr std::uint8_t kIcmpEchoRequest = 8;
constexpr std::uint8_t kIcmpv6EchoRequest = 128;
constexpr std::uint8_t kIcmpv6EchoReply = 129;

// Neighbour discovery (RFC 4861, 4.3, 4.4, 4.6.1).
constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;
constexpr Field kRouter{"router", 32, 1};
constexpr Field kSolicited{"solicited", 33, 1};
constexpr Field kOverride{"override", 34, 1};
constexpr std::size_t kTargetOffset = 8;
constexpr std::size_t kOptionsOffset = 24;
constexpr std::size_t kOptionUnit = 8;  // option lengths count eight bytes
constexpr std::uint8_t kSourceLinkAddress = 1;
constexpr std::uint8_t kTargetLinkAddress = 2;

// Finds a link-layer address option of one unit, the length it has on Ethernet. False when the
// options are malformed: of length zero or cut short (RFC 4861, 7.1.1 and 7.1.2).
bool read_options(ByteView options, std::uint8_t wanted, std::optional<MacAddress>& address) {
  while (!options.empty()) {
    if (options.size() < 2) return false;
    const std::size_t length = load_u8(options.data() + 1) * kOptionUnit;
    if (length == 0 || length > options.size()) return false;
    if (load_u8(options.data()) == wanted && length == kOptionUnit) {
      address = load_mac(options.data() + 2);
    }
    options = options.subspan(length);
  }
  return true;
}

// The checks of RFC 4861, 7.1.1 and 7.1.2 on the addresses around a message. The hop limit of
// 255 is the caller's to check: it is not in the message.
bool addresses_valid(const NeighborMessage& m, const Gid& source, const Gid& destination) {
  if (m.target.is_multicast()) return false;
  if (m.advertisement) return !(destination.is_multicast() && m.solicited);
  if (!source.is_zero()) return true;
  return !m.link_address && destination == solicited_node_multicast(m.target);
}

std::optional<Echo> parse_echo(ByteView message, std::uint8_t request, std::uint8_t reply) {
  const std::byte* p = message.data();
  const std::uint8_t type = load_u8(p);
  const std::uint8_t code = load_u8(p + 1);
  if ((type != request && type != reply) || code != 0) return std::nullopt;
  Echo echo;
  echo.reply = type == reply;
  echo.identifier = load_be16(p + kIdentifierOffset);
  echo.sequence = load_be16(p + kSequenceOffset);
  echo.data = message.subspan(Echo::kHeaderSize);
  return echo;
}

void write_echo(ByteSpan out, const Echo& echo, std::uint8_t type, std::uint32_t sum) {
  std::byte* p = out.data();
  store_u8(p, type);
  store_u8(p + 1, 0);
  store_be16(p + kChecksumOffset, 0);
  store_be16(p + kIdentifierOffset, echo.identifier);
  store_be16(p + kSequenceOffset, echo.sequence);
  std::copy(echo.data.begin(), echo.data.end(), p + Echo::kHeaderSize);
  store_be16(p + kChecksumOffset, internet_checksum(out.first(echo.size()), sum));
}

}  // namespace

std::uint32_t icmpv6_pseudo_header_sum(std::size_t length, const Gid& source,
                                       const Gid& destination) {
  std::uint32_t sum = static_cast<std::uint32_t>(length >> 16) +
                      static_cast<std::uint32_t>(length & 0xffff) + ip_protocol::kIcmpv6;
  for (const Gid* address : {&source, &destination}) {
    for (std::size_t i = 0; i < address->bytes.size(); i += 2) {
      sum += static_cast<std::uint32_t>(address->bytes[i] << 8 | address->bytes[i + 1]);
    }
  }
  return sum;
}

std::optional<Echo> Echo::parse_icmp(ByteView message) {
  if (message.size() < kHeaderSize || internet_checksum(message) != 0) return std::nullopt;
  return parse_echo(message, kIcmpEchoRequest, kIcmpEchoReply);
}

std::optional<Echo> Echo::parse_icmpv6(ByteView message, const Gid& source,
                                       const Gid& destination) {
  if (message.size() < kHeaderSize) return std::nullopt;
  const std::uint32_t sum = icmpv6_pseudo_header_sum(message.size(), source, destination);
  if (internet_checksum(message, sum) != 0) return std::nullopt;
  return parse_echo(message, kIcmpv6EchoRequest, kIcmpv6EchoReply);
}

void Echo::serialize_icmp(ByteSpan out) const {
  write_echo(out, *this, reply ? kIcmpEchoReply : kIcmpEchoRequest, 0);
}

void Echo::serialize_icmpv6(ByteSpan out, const Gid& source, const Gid& destination) const {
  write_echo(out, *this, reply ? kIcmpv6EchoReply : kIcmpv6EchoRequest,
             icmpv6_pseudo_header_sum(size(), source, destination));
}

std::optional<NeighborMessage> NeighborMessage::parse(ByteView message, const Gid& source,
                                                      const Gid& destination) {
  if (message.size() < kOptionsOffset) return std::nullopt;
  const std::byte* p = message.data();
  const std::uint8_t type = load_u8(p);
  if ((type != kSolicitation && type != kAdvertisement) || load_u8(p + 1) != 0) {
    return std::nullopt;
  }
  const std::uint32_t sum = icmpv6_pseudo_header_sum(message.size(), source, destination);
  if (internet_checksum(message, sum) != 0) return std::nullopt;

  NeighborMessage m;
  m.advertisement = type == kAdvertisement;
  if (m.advertisement) {
    m.router = get(p, kRouter) != 0;
    m.solicited = get(p, kSolicited) != 0;
    m.override_flag = get(p, kOverride) != 0;
  }
  std::memcpy(m.target.bytes.data(), p + kTargetOffset, m.target.bytes.size());
  const std::uint8_t option = m.advertisement ? kTargetLinkAddress : kSourceLinkAddress;
  if (!read_options(message.subspan(kOptionsOffset), option, m.link_address)) return std::nullopt;
  if (!addresses_valid(m, source, destination)) return std::nullopt;
  return m;
}

void NeighborMessage::serialize(ByteSpan out, const Gid& source, const Gid& destination) const {
  std::byte* p = out.data();
  std::fill_n(p, size(), std::byte{});
  store_u8(p, advertisement ? kAdvertisement : kSolicitation);
  if (advertisement) {
    put(p, kRouter, router);
    put(p, kSolicited, solicited);
    put(p, kOverride, override_flag);
  }
  std::memcpy(p + kTargetOffset, target.bytes.data(), target.bytes.size());
  if (link_address) {
    store_u8(p + kOptionsOffset, advertisement ? kTargetLinkAddress : kSourceLinkAddress);
    store_u8(p + kOptionsOffset + 1, 1);
    store_mac(p + kOptionsOffset + 2, *link_address);
  }
  const std::uint32_t sum = icmpv6_pseudo_header_sum(size(), source, destination);
  store_be16(p + kChecksumOffset, internet_checksum(out.first(size()), sum));
}

Gid solicited_node_multicast(const Gid& target) {
  const auto& t = target.bytes;
  return {{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, t[13], t[14], t[15]}};
}

MacAddress multicast_mac(const Gid& group) {
  const auto& g = group.bytes;
  if (group.is_ipv4_mapped()) {
    return {{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(g[13] & 0x7f), g[14], g[15]}};
  }
  return {{0x33, 0x33, g[12], g[13], g[14], g[15]}};
}

}  // namespace softrnic::wire
