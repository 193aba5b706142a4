// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_datagram.hpp"

#include <algorithm>

#include "wire/bth.hpp"
#include "wire/icrc.hpp"
#include "wire/icrc_change.hpp"

namespace softrnic::link {

namespace {

using wire::Ipv4Header;
using wire::Ipv6Header;
using wire::UdpHeader;

constexpr std::size_t kIcrcSize = 4;
constexpr std::size_t kFragmentWord = 4;  // where it is in an IPv4 header
constexpr std::uint32_t kDontFragment = 0x4000;

template <class Header>
Header parse(wire::ByteSpan bytes) {
  return Header::parse(std::span<const std::byte, Header::kSize>(bytes.data(), Header::kSize));
}

// `network`: from the IP header on. Returns what follows it, up to the end of the IP packet.
wire::ByteSpan read_ipv4(UdpDatagram& datagram, wire::ByteSpan network) {
  if (network.size() < Ipv4Header::kSize) return {};
  const Ipv4Header ip = parse<Ipv4Header>(network);
  if (ip.version != 4 || ip.header_words != 5 || ip.protocol != wire::ip_protocol::kUdp) return {};
  datagram.source = wire::Gid::from_ipv4(ip.source);
  datagram.destination = wire::Gid::from_ipv4(ip.destination);
  datagram.traffic_class = ip.traffic_class;
  datagram.hop_limit = ip.time_to_live;
  datagram.fragment_word = wire::load_be32(network.data() + kFragmentWord);
  if (ip.total_length < Ipv4Header::kSize) return {};
  return network.first(std::min<std::size_t>(network.size(), ip.total_length))
      .subspan(Ipv4Header::kSize);
}

wire::ByteSpan read_ipv6(UdpDatagram& datagram, wire::ByteSpan network) {
  if (network.size() < Ipv6Header::kSize) return {};
  const Ipv6Header ip = parse<Ipv6Header>(network);
  if (ip.version != 6 || ip.next_header != wire::ip_protocol::kUdp) return {};
  // A mapped address would be sent as IPv4.
  if (ip.destination.is_ipv4_mapped()) return {};
  datagram.source = ip.source;
  datagram.destination = ip.destination;
  datagram.traffic_class = ip.traffic_class;
  datagram.hop_limit = ip.hop_limit;
  const wire::ByteSpan behind = network.subspan(Ipv6Header::kSize);
  return behind.first(std::min<std::size_t>(behind.size(), ip.payload_length));
}

}  // namespace

std::optional<UdpDatagram> UdpDatagram::read(wire::ByteSpan frame) {
  const auto ethernet = wire::EthernetHeader::parse(frame);
  if (!ethernet) return std::nullopt;
  const wire::ByteSpan network = frame.subspan(ethernet->size());
  std::optional<UdpDatagram> datagram(std::in_place);
  wire::ByteSpan udp;
  if (ethernet->ethertype == wire::ethertype::kIpv4) udp = read_ipv4(*datagram, network);
  if (ethernet->ethertype == wire::ethertype::kIpv6) udp = read_ipv6(*datagram, network);
  if (udp.size() < UdpHeader::kSize) return std::nullopt;
  const UdpHeader header = parse<UdpHeader>(udp);
  datagram->source_port = header.source_port;
  datagram->destination_port = header.destination_port;
  datagram->payload = udp.subspan(UdpHeader::kSize);
  return datagram;
}

void UdpDatagram::adjust(std::uint16_t identification, std::uint16_t port) {
  if (payload.size() < wire::Bth::kSize + kIcrcSize) return;
  const std::size_t covered = payload.size() - kIcrcSize;
  std::uint32_t change = 0;
  if (source_port != port) {
    constexpr std::size_t kBehindPort = UdpHeader::kSize - 2;
    change ^= wire::icrc_change(source_port ^ port, covered + kBehindPort);
    source_port = port;
    wire::store_be16(payload.data() - UdpHeader::kSize, port);
  }
  const std::uint32_t word = std::uint32_t{identification} << 16 | kDontFragment;
  if (is_ipv4() && fragment_word != word) {
    constexpr std::size_t kBehindFlags =
        UdpHeader::kSize + Ipv4Header::kSize - kFragmentWord - sizeof(word);
    const std::uint32_t difference = fragment_word ^ word;
    if (const auto flags = static_cast<std::uint16_t>(difference)) {
      change ^= wire::icrc_change(flags, covered + kBehindFlags);
    }
    if (const auto id = static_cast<std::uint16_t>(difference >> 16)) {
      change ^= wire::icrc_change(id, covered + kBehindFlags + 2);
    }
    fragment_word = word;
    std::byte* const network = payload.data() - UdpHeader::kSize - Ipv4Header::kSize;
    wire::store_be32(network + kFragmentWord, word);
  }
  if (change == 0) return;
  std::byte* const icrc = payload.data() + covered;
  wire::store_icrc(icrc, wire::load_icrc(icrc) ^ change);
}

}  // namespace softrnic::link
