// SPDX-License-Identifier: BSD-3-Clause
#include "wire/packet_view.hpp"

#include "wire/icrc.hpp"

namespace softrnic::wire {
namespace {

constexpr std::size_t kIcrcSize = 4;

template <class Header>
Header parse_at(const ByteChain& frame, std::size_t offset) {
  return Header::parse(
      std::span<const std::byte, Header::kSize>(frame.front().data() + offset, Header::kSize));
}

std::uint32_t icrc_in(const ByteChain& frame, std::size_t offset) {
  const ByteView front = frame.front();
  if (offset + kIcrcSize <= front.size()) return load_icrc(front.data() + offset);
  std::array<std::byte, kIcrcSize> bytes;
  frame.copy_to(offset, bytes);
  return load_icrc(bytes.data());
}

bool is_rocev2_port(const std::byte* udp) {
  return get(udp, UdpHeader::kDestinationPort) == kRoceV2Port;
}

// Whether the UDP header behind an IPv4 header of any length, if it is in the frame, is addressed
// to RoCE.
bool leads_to_rocev2(ByteView network) {
  const std::size_t udp = get(network.data(), Ipv4Header::kHeaderWords) * 4;
  return udp + UdpHeader::kSize <= network.size() && is_rocev2_port(network.data() + udp);
}

// Why a UDP packet with IPv4 options or cut into fragments is refused. Only RoCE is worth an
// error; a fragment other than the first could belong to anyone, and is called a fragment.
ParseError refuse_unusual_ipv4(ByteView network) {
  const std::byte* p = network.data();
  if (get(p, Ipv4Header::kFragmentOffset) != 0) return ParseError::fragmented;
  if (!leads_to_rocev2(network)) return ParseError::not_roce;
  const bool more_fragments = (get(p, Ipv4Header::kFlags) & 1) != 0;
  return more_fragments ? ParseError::fragmented : ParseError::bad_ip_header;
}

}  // namespace

std::string_view to_string(ParseError error) {
  switch (error) {
    case ParseError::not_roce:
      return "not a RoCE frame: another EtherType, protocol or port";
    case ParseError::truncated:
      return "the frame ends before what its headers announce";
    case ParseError::bad_ip_header:
      return "the IP header has a wrong version, length or checksum";
    case ParseError::fragmented:
      return "an IPv4 fragment, which RoCE never sends";
    case ParseError::length_mismatch:
      return "the IP, UDP or GRH length does not fit the headers inside";
    case ParseError::unknown_opcode:
      return "the BTH opcode is reserved";
    case ParseError::bad_transport_version:
      return "the BTH transport version is not 0";
    case ParseError::bad_padding:
      return "the pad count is larger than the payload, or the padded payload is no multiple of "
             "four";
  }
  return "unknown error";
}

Expected<PacketView, ParseError> PacketView::parse(const ByteChain& frame, ParseOptions options) {
  Expected<PacketView, ParseError> result(std::in_place, ByParse{}, frame);
  if (const auto error = result->read_ethernet(options)) result = Unexpected{*error};
  return result;
}

std::optional<ParseError> PacketView::read_ethernet(ParseOptions options) {
  const ByteView front = frame_.front();
  if (front.size() < EthernetHeader::kSize) return ParseError::truncated;
  std::size_t offset = EthernetHeader::kSize;
  std::uint16_t type = load_be16(front.data() + offset - 2);
  if (type == ethertype::kVlan) {
    if (front.size() < EthernetHeader::kMaxSize) return ParseError::truncated;
    offset = EthernetHeader::kMaxSize;
    type = load_be16(front.data() + offset - 2);
  }
  network_offset_ = static_cast<std::uint16_t>(offset);
  switch (type) {
    case ethertype::kIpv4:
      return read_ipv4(options);
    case ethertype::kIpv6:
      return read_ipv6();
    case ethertype::kRoceV1:
      return read_grh();
    default:
      return ParseError::not_roce;
  }
}

std::optional<ParseError> PacketView::read_ipv4(ParseOptions options) {
  network_layer_ = NetworkLayer::ipv4;
  const ByteView network = frame_.front().subspan(network_offset_);
  if (network.size() < Ipv4Header::kSize) return ParseError::truncated;
  const std::byte* p = network.data();
  const std::size_t words = get(p, Ipv4Header::kHeaderWords);
  if (get(p, Ipv4Header::kVersion) != 4 || words * 4 < Ipv4Header::kSize) {
    return ParseError::bad_ip_header;
  }
  if (get(p, Ipv4Header::kProtocol) != ip_protocol::kUdp) return ParseError::not_roce;
  const bool more_fragments = (get(p, Ipv4Header::kFlags) & 1) != 0;
  if (words * 4 != Ipv4Header::kSize || more_fragments ||
      get(p, Ipv4Header::kFragmentOffset) != 0) {
    return refuse_unusual_ipv4(network);
  }
  if (!leads_to_rocev2(network)) {
    return network.size() < Ipv4Header::kSize + UdpHeader::kSize ? ParseError::truncated
                                                                 : ParseError::not_roce;
  }
  // A right header sums to ones, so its checksum field included the result is zero.
  if (options.verify_ipv4_checksum && internet_checksum(network.first(Ipv4Header::kSize)) != 0) {
    return ParseError::bad_ip_header;
  }
  const std::size_t total = get(p, Ipv4Header::kTotalLength);
  if (total < Ipv4Header::kSize) return ParseError::length_mismatch;
  return read_udp(network_offset_ + Ipv4Header::kSize, total - Ipv4Header::kSize);
}

std::optional<ParseError> PacketView::read_ipv6() {
  network_layer_ = NetworkLayer::ipv6;
  const ByteView network = frame_.front().subspan(network_offset_);
  if (network.size() < Ipv6Header::kSize) return ParseError::truncated;
  const std::byte* p = network.data();
  if (get(p, Ipv6Header::kVersion) != 6) return ParseError::bad_ip_header;
  if (get(p, Ipv6Header::kNextHeader) != ip_protocol::kUdp) return ParseError::not_roce;
  if (network.size() < Ipv6Header::kSize + UdpHeader::kSize) return ParseError::truncated;
  if (!is_rocev2_port(p + Ipv6Header::kSize)) return ParseError::not_roce;
  return read_udp(network_offset_ + Ipv6Header::kSize, get(p, Ipv6Header::kPayloadLength));
}

std::optional<ParseError> PacketView::read_grh() {
  network_layer_ = NetworkLayer::grh;
  const ByteView network = frame_.front().subspan(network_offset_);
  if (network.size() < Grh::kSize) return ParseError::truncated;
  const std::byte* p = network.data();
  if (get(p, Grh::kVersion) != 6) return ParseError::bad_ip_header;
  if (get(p, Grh::kNextHeader) != ip_protocol::kGrhBth) return ParseError::not_roce;
  return read_transport(network_offset_ + Grh::kSize, get(p, Grh::kPayloadLength));
}

// The callers have seen the UDP header lie in the first piece.
std::optional<ParseError> PacketView::read_udp(std::size_t offset, std::size_t size) {
  if (get(frame_.front().data() + offset, UdpHeader::kLength) != size) {
    return ParseError::length_mismatch;
  }
  if (size < UdpHeader::kSize) return ParseError::length_mismatch;
  return read_transport(offset + UdpHeader::kSize, size - UdpHeader::kSize);
}

std::optional<ParseError> PacketView::read_transport(std::size_t offset, std::size_t size) {
  const ByteView front = frame_.front();
  if (size < Bth::kSize + kIcrcSize) return ParseError::length_mismatch;
  if (offset + size > frame_.size() || offset + Bth::kSize > front.size()) {
    return ParseError::truncated;
  }
  const std::byte* bth = front.data() + offset;
  if (get(bth, Bth::kVersion) != 0) return ParseError::bad_transport_version;
  opcode_ = find_opcode(load_u8(bth));
  if (opcode_ == nullptr) return ParseError::unknown_opcode;

  const std::size_t headers_size = Bth::kSize + opcode_->extension_size;
  if (size < headers_size + kIcrcSize) return ParseError::length_mismatch;
  if (offset + headers_size > front.size()) return ParseError::truncated;
  const std::size_t padded = size - headers_size - kIcrcSize;
  const std::size_t pad = get(bth, Bth::kPadCount);
  if (pad > padded || padded % 4 != 0) return ParseError::bad_padding;

  bth_offset_ = static_cast<std::uint16_t>(offset);
  payload_offset_ = static_cast<std::uint32_t>(offset + headers_size);
  icrc_offset_ = static_cast<std::uint32_t>(payload_offset_ + padded);
  headers_.read(front.subspan(offset));
  payload_ = frame_.slice(payload_offset_, padded - pad);
  icrc_ = icrc_in(frame_, icrc_offset_);
  return std::nullopt;
}

EthernetHeader PacketView::ethernet() const {
  return EthernetHeader::parse(frame_.front()).value_or(EthernetHeader{});
}

Grh PacketView::grh() const {
  return parse_at<Grh>(frame_, network_offset_);
}

Ipv4Header PacketView::ipv4() const {
  return parse_at<Ipv4Header>(frame_, network_offset_);
}

Ipv6Header PacketView::ipv6() const {
  return parse_at<Ipv6Header>(frame_, network_offset_);
}

UdpHeader PacketView::udp() const {
  return parse_at<UdpHeader>(frame_, bth_offset_ - UdpHeader::kSize);
}

Gid PacketView::source() const {
  if (network_layer_ == NetworkLayer::ipv4) return Gid::from_ipv4(ipv4().source);
  return ipv6().source;
}

Gid PacketView::destination() const {
  if (network_layer_ == NetworkLayer::ipv4) return Gid::from_ipv4(ipv4().destination);
  return ipv6().destination;
}

std::uint8_t PacketView::traffic_class() const {
  const std::byte* p = frame_.front().data() + network_offset_;
  const Field& field =
      network_layer_ == NetworkLayer::ipv4 ? Ipv4Header::kTrafficClass : Ipv6Header::kTrafficClass;
  return static_cast<std::uint8_t>(get(p, field));
}

std::uint32_t PacketView::computed_icrc() const {
  const ByteView headers =
      frame_.front().subspan(network_offset_, payload_offset_ - network_offset_);
  return wire::icrc(network_layer_, headers, bth_offset_ - network_offset_,
                    frame_.slice(payload_offset_, icrc_offset_ - payload_offset_));
}

}  // namespace softrnic::wire
