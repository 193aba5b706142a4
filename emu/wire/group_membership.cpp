// SPDX-License-Identifier: BSD-3-Clause
#include "wire/group_membership.hpp"

#include <algorithm>
#include <cstring>

#include "wire/icmp.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::wire {
namespace {

// IGMP (RFC 2236, 2).
constexpr std::uint8_t kIgmpQuery = 0x11;
constexpr std::uint8_t kIgmpReportV2 = 0x16;
constexpr std::uint8_t kIgmpLeave = 0x17;
constexpr std::size_t kIgmpGroupOffset = 4;
constexpr Duration kIgmpUnit = std::chrono::milliseconds(100);
// A query of version 1 leaves the time out, and means ten seconds (RFC 2236, 4).
constexpr Duration kVersion1Answer = std::chrono::seconds(10);

// MLD (RFC 2710, 3).
constexpr std::uint8_t kMldQuery = 130;
constexpr std::uint8_t kMldReport = 131;
constexpr std::uint8_t kMldDone = 132;
constexpr std::size_t kMldDelayOffset = 4;
constexpr std::size_t kMldGroupOffset = 8;
constexpr std::size_t kMldMessageSize = 24;

constexpr std::size_t kChecksumOffset = 2;

// Next header ICMPv6, eight bytes long, router alert for MLD, padding (RFC 2711, 2.1).
constexpr std::array<std::uint8_t, MembershipMessage::kHopByHopSize> kHopByHop{58, 0, 5, 2,
                                                                               0,  0, 1, 0};

// Times beyond 7 or 15 bits are floating point in the later versions (RFC 3376, 4.1.1; RFC 3810,
// 5.1.3): a mantissa of `bits` below its hidden one, and an exponent of three.
std::uint32_t time_code(std::uint32_t code, unsigned bits) {
  if ((code >> (bits + 3)) == 0) return code;
  const std::uint32_t mantissa = code & ((1u << bits) - 1);
  const std::uint32_t exponent = (code >> bits) & 7;
  return (mantissa | 1u << bits) << (exponent + 3);
}

Gid load_gid(const std::byte* p) {
  Gid gid;
  std::memcpy(gid.bytes.data(), p, gid.bytes.size());
  return gid;
}

// The options must hold a router alert for MLD: without one a message is not believed (RFC 2710,
// 3). Gives the size of the header, or zero.
std::size_t hop_by_hop_with_alert(ByteView message) {
  if (message.size() < 8 || load_u8(message.data()) != ip_protocol::kIcmpv6) return 0;
  const std::size_t size = 8 + std::size_t{8} * load_u8(message.data() + 1);
  if (size > message.size()) return 0;
  bool alert = false;
  for (std::size_t at = 2; at < size;) {
    const std::uint8_t type = load_u8(message.data() + at);
    if (type == 0) {  // one byte of padding, alone without a length
      ++at;
      continue;
    }
    if (at + 2 > size) return 0;
    const std::size_t length = load_u8(message.data() + at + 1);
    if (at + 2 + length > size) return 0;
    alert |= type == 5 && length == 2 && load_be16(message.data() + at + 2) == 0;
    at += 2 + length;
  }
  return alert ? size : 0;
}

}  // namespace

std::optional<MembershipMessage> MembershipMessage::parse_igmp(ByteView message) {
  if (message.size() < kIgmpSize || internet_checksum(message) != 0) return std::nullopt;
  const std::byte* p = message.data();
  MembershipMessage m;
  switch (load_u8(p)) {
    case kIgmpQuery: {
      m.kind = MembershipKind::query;
      const std::uint32_t code = load_u8(p + 1);
      m.answer_within = code == 0 ? kVersion1Answer : time_code(code, 4) * kIgmpUnit;
      break;
    }
    case kIgmpReportV2:
      m.kind = MembershipKind::report;
      break;
    case kIgmpLeave:
      m.kind = MembershipKind::leave;
      break;
    default:
      return std::nullopt;
  }
  const std::uint32_t group = load_be32(p + kIgmpGroupOffset);
  if (group != 0) m.group = Gid::from_ipv4(group);
  if (group != 0 && !m.group.is_multicast()) return std::nullopt;
  if (group == 0 && m.kind != MembershipKind::query) return std::nullopt;
  return m;
}

std::optional<MembershipMessage> MembershipMessage::parse_mld(ByteView message, const Gid& source,
                                                              const Gid& destination) {
  const std::size_t options = hop_by_hop_with_alert(message);
  if (options == 0 || !source.is_link_local()) return std::nullopt;
  message = message.subspan(options);
  if (message.size() < kMldMessageSize) return std::nullopt;
  const std::uint32_t sum = icmpv6_pseudo_header_sum(message.size(), source, destination);
  if (internet_checksum(message, sum) != 0) return std::nullopt;
  const std::byte* p = message.data();
  MembershipMessage m;
  switch (load_u8(p)) {
    case kMldQuery:
      m.kind = MembershipKind::query;
      m.answer_within = std::chrono::milliseconds(time_code(load_be16(p + kMldDelayOffset), 12));
      break;
    case kMldReport:
      m.kind = MembershipKind::report;
      break;
    case kMldDone:
      m.kind = MembershipKind::leave;
      break;
    default:
      return std::nullopt;
  }
  m.group = load_gid(p + kMldGroupOffset);
  if (!m.group.is_zero() && !m.group.is_multicast()) return std::nullopt;
  if (m.group.is_zero() && m.kind != MembershipKind::query) return std::nullopt;
  return m;
}

void MembershipMessage::serialize_igmp(std::span<std::byte, kIgmpSize> out) const {
  std::fill(out.begin(), out.end(), std::byte{});
  std::byte* p = out.data();
  switch (kind) {
    case MembershipKind::query:
      store_u8(p, kIgmpQuery);
      store_u8(p + 1, static_cast<std::uint8_t>(answer_within / kIgmpUnit));
      break;
    case MembershipKind::report:
      store_u8(p, kIgmpReportV2);
      break;
    case MembershipKind::leave:
      store_u8(p, kIgmpLeave);
      break;
  }
  store_be32(p + kIgmpGroupOffset, group.is_zero() ? 0 : group.ipv4());
  store_be16(p + kChecksumOffset, internet_checksum(out));
}

void MembershipMessage::serialize_mld(std::span<std::byte, kMldSize> out, const Gid& source,
                                      const Gid& destination) const {
  std::fill(out.begin(), out.end(), std::byte{});
  std::memcpy(out.data(), kHopByHop.data(), kHopByHop.size());
  const ByteSpan message = out.subspan(kHopByHopSize);
  std::byte* p = message.data();
  switch (kind) {
    case MembershipKind::query:
      store_u8(p, kMldQuery);
      store_be16(p + kMldDelayOffset,
                 static_cast<std::uint16_t>(answer_within / std::chrono::milliseconds(1)));
      break;
    case MembershipKind::report:
      store_u8(p, kMldReport);
      break;
    case MembershipKind::leave:
      store_u8(p, kMldDone);
      break;
  }
  std::memcpy(p + kMldGroupOffset, group.bytes.data(), group.bytes.size());
  const std::uint32_t sum = icmpv6_pseudo_header_sum(message.size(), source, destination);
  store_be16(p + kChecksumOffset, internet_checksum(message, sum));
}

Gid MembershipMessage::destination() const {
  if (kind == MembershipKind::report) return group;
  const bool leaves = kind == MembershipKind::leave;
  if (group.is_ipv4_mapped()) return Gid::from_ipv4(leaves ? 0xe0000002 : 0xe0000001);
  const std::uint8_t last = leaves ? 2 : 1;
  return {{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

}  // namespace softrnic::wire
