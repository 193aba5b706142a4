// SPDX-License-Identifier: BSD-3-Clause
#include "nic/ip_datagram.hpp"

#include <array>
#include <cstring>

#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"

namespace softrnic::nic {
namespace {

using wire::Ipv4Header;
using wire::Ipv6Header;

constexpr std::size_t kChecksumOffset = 10;
constexpr std::array<std::uint8_t, 4> kRouterAlert{0x94, 0x04, 0x00, 0x00};

template <class Header>
std::span<const std::byte, Header::kSize> front(wire::ByteView bytes) {
  return std::span<const std::byte, Header::kSize>(bytes.data(), Header::kSize);
}

template <class Header>
void write(const Header& header, wire::ByteSpan out) {
  header.serialize(std::span<std::byte, Header::kSize>(out.data(), Header::kSize));
}

}  // namespace

std::size_t IpDatagram::header_size() const {
  if (!is_ipv4()) return Ipv6Header::kSize;
  return Ipv4Header::kSize + (router_alert ? kRouterAlert.size() : 0);
}

std::optional<IpDatagram> IpDatagram::parse_ipv4(wire::ByteView bytes) {
  if (bytes.size() < Ipv4Header::kSize) return std::nullopt;
  const Ipv4Header ip = Ipv4Header::parse(front<Ipv4Header>(bytes));
  const std::size_t header = std::size_t{ip.header_words} * 4;  // options are skipped
  const bool well_formed = ip.version == 4 && header >= Ipv4Header::kSize &&
                           header <= ip.total_length && ip.total_length <= bytes.size();
  if (!well_formed || wire::internet_checksum(bytes.first(header)) != 0) return std::nullopt;
  const bool more_fragments = (ip.flags & 1) != 0;
  if (more_fragments || ip.fragment_offset != 0) return std::nullopt;
  return IpDatagram{wire::Gid::from_ipv4(ip.source),
                    wire::Gid::from_ipv4(ip.destination),
                    ip.protocol,
                    ip.time_to_live,
                    ip.traffic_class,
                    bytes.subspan(header, ip.total_length - header),
                    false};
}

std::optional<IpDatagram> IpDatagram::parse_ipv6(wire::ByteView bytes) {
  if (bytes.size() < Ipv6Header::kSize) return std::nullopt;
  const Ipv6Header ip = Ipv6Header::parse(front<Ipv6Header>(bytes));
  if (ip.version != 6 || Ipv6Header::kSize + ip.payload_length > bytes.size()) return std::nullopt;
  // A mapped IPv4 address has no place on the wire (RFC 4291, 2.5.5.2; RFC 6890).
  if (ip.source.is_ipv4_mapped() || ip.destination.is_ipv4_mapped()) return std::nullopt;
  return IpDatagram{
      ip.source,    ip.destination,   ip.next_header,
      ip.hop_limit, ip.traffic_class, bytes.subspan(Ipv6Header::kSize, ip.payload_length),
      false};
}

link::Frame* IpDatagram::to_frame(const InterfaceIdentity& identity, const wire::MacAddress& mac,
                                  FrameSender& frames) const {
  link::Frame* frame = frames.allocate();
  if (frame == nullptr) return nullptr;
  const std::uint16_t type = is_ipv4() ? wire::ethertype::kIpv4 : wire::ethertype::kIpv6;
  const wire::EthernetHeader ethernet = identity.header_to(mac, type);
  const wire::MutableByteChain room = frame->append(payload.size());
  const wire::ByteSpan headers = frame->prepend(ethernet.size() + header_size());
  if (room.size() < payload.size() || headers.empty()) {
    frames.cancel(frame);
    return nullptr;
  }
  wire::copy(wire::ByteChain(payload), room);
  ethernet.serialize(headers);
  write_header(headers.subspan(ethernet.size()), frames.next_identification());
  return frame;
}

void IpDatagram::write_header(wire::ByteSpan out, std::uint16_t identification) const {
  if (is_ipv4()) {
    Ipv4Header ip;
    ip.traffic_class = traffic_class;
    ip.header_words = static_cast<std::uint8_t>(header_size() / 4);
    ip.total_length = static_cast<std::uint16_t>(header_size() + payload.size());
    ip.identification = identification;
    ip.time_to_live = hop_limit;
    ip.protocol = protocol;
    ip.source = source.ipv4();
    ip.destination = destination.ipv4();
    write(ip, out);
    if (router_alert) std::memcpy(out.data() + Ipv4Header::kSize, kRouterAlert.data(), 4);
    wire::store_be16(out.data() + kChecksumOffset,
                     wire::internet_checksum(out.first(header_size())));
  } else {
    Ipv6Header ip;
    ip.traffic_class = traffic_class;
    ip.payload_length = static_cast<std::uint16_t>(payload.size());
    ip.next_header = protocol;
    ip.hop_limit = hop_limit;
    ip.source = source;
    ip.destination = destination;
    write(ip, out);
  }
}

}  // namespace softrnic::nic
