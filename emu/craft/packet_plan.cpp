// SPDX-License-Identifier: BSD-3-Clause
#include "craft/packet_plan.hpp"

#include <algorithm>
#include <span>

#include "fabric/header_rewrite.hpp"
#include "link/frame.hpp"
#include "wire/icrc.hpp"

namespace softrnic::craft {

namespace {

constexpr std::size_t kIcrcSize = 4;

template <class Header>
void append(Bytes& bytes, const Header& header) {
  std::array<std::byte, Header::kSize> place;
  header.serialize(place);
  bytes.insert(bytes.end(), place.begin(), place.end());
}

void append_ethernet(Bytes& bytes, const PacketPlan& plan) {
  wire::EthernetHeader header;
  header.destination = plan.destination_mac;
  header.source = plan.source_mac;
  header.vlan = plan.vlan;
  header.ethertype = plan.version == wire::RoceVersion::v1 ? wire::ethertype::kRoceV1
                     : plan.over_ipv4()                    ? wire::ethertype::kIpv4
                                                           : wire::ethertype::kIpv6;
  bytes.resize(header.size());
  header.serialize(bytes);
}

void append_ipv4(Bytes& bytes, const PacketPlan& plan, std::size_t size) {
  wire::Ipv4Header header;
  header.traffic_class = plan.traffic_class;
  header.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::kSize + size);
  header.identification = plan.identification;
  header.time_to_live = plan.hop_limit;
  header.source = plan.source.ipv4();
  header.destination = plan.destination.ipv4();
  header.checksum = header.computed_checksum();
  append(bytes, header);
}

void append_ipv6(Bytes& bytes, const PacketPlan& plan, std::size_t size) {
  wire::Ipv6Header header;
  header.traffic_class = plan.traffic_class;
  header.payload_length = static_cast<std::uint16_t>(size);
  header.hop_limit = plan.hop_limit;
  header.source = plan.source;
  header.destination = plan.destination;
  if (plan.version == wire::RoceVersion::v1) header.next_header = wire::ip_protocol::kGrhBth;
  append(bytes, header);
}

// A well-formed frame around a payload that is a multiple of four with its pad.
Bytes frame_around(const PacketPlan& plan, wire::ByteView payload, std::size_t pad) {
  const std::size_t transport = plan.headers.size() + payload.size() + pad + kIcrcSize;
  Bytes bytes;
  append_ethernet(bytes, plan);
  if (plan.version == wire::RoceVersion::v1) {
    append_ipv6(bytes, plan, transport);
  } else {
    wire::UdpHeader udp;
    udp.source_port = plan.source_port;
    udp.length = static_cast<std::uint16_t>(wire::UdpHeader::kSize + transport);
    if (plan.over_ipv4()) append_ipv4(bytes, plan, udp.length);
    if (!plan.over_ipv4()) append_ipv6(bytes, plan, udp.length);
    append(bytes, udp);
  }
  std::array<std::byte, wire::kMaxTransportHeaders> headers;
  const std::size_t size = plan.headers.serialize(headers);
  bytes.insert(bytes.end(), headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(size));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(bytes.size() + pad + kIcrcSize);
  return bytes;
}

// Says where the headers of a frame of the plan lie, which its payload does not change.
class Places {
 public:
  explicit Places(PacketPlan plan) {
    plan.headers.bth.pad_count = 0;
    plan.headers.bth.version = 0;
    bytes_ = frame_around(plan, {}, 0);
    view_.emplace(wire::PacketView::parse(wire::ByteChain(wire::ByteView(bytes_))));
  }
  // The plan's headers are of an opcode of the table, so that the frame can be read.
  const wire::PacketView& view() const { return **view_; }

 private:
  Bytes bytes_;
  std::optional<wire::Expected<wire::PacketView, wire::ParseError>> view_;
};

bool assigns(const PacketPlan& plan, const wire::PacketView& view, std::string_view name) {
  const auto place = fabric::find_header_field(view, name);
  return place && std::ranges::any_of(plan.fields, [&](const fabric::FieldValue& value) {
           const auto other = fabric::find_header_field(view, value.name);
           return other && other->first == place->first;
         });
}

void write_fields(Bytes& bytes, const wire::PacketView& view, const PacketPlan& plan) {
  link::Frame frame;
  const auto size = static_cast<std::uint32_t>(bytes.size());
  frame.set_received(0, bytes.data(), size, 0, size);
  fabric::write_fields(frame, view, plan.fields);
}

void sum_ipv4(Bytes& bytes, const wire::PacketView& view, const PacketPlan& plan) {
  if (view.network_layer() != wire::NetworkLayer::ipv4 || assigns(plan, view, "ipv4.checksum")) {
    return;
  }
  std::byte* header = bytes.data() + view.network_offset();
  wire::put(header, wire::Ipv4Header::kChecksum, 0);
  wire::put(header, wire::Ipv4Header::kChecksum,
            wire::internet_checksum(wire::ByteView(header, wire::Ipv4Header::kSize)));
}

void write_icrc(Bytes& bytes, const wire::PacketView& view, const PacketPlan& plan) {
  const std::size_t start = view.network_offset();
  const std::size_t end = bytes.size() - kIcrcSize;
  const wire::ByteView all(bytes);
  std::uint32_t icrc =
      wire::icrc(view.network_layer(), all.subspan(start, view.payload_offset() - start),
                 view.bth_offset() - start,
                 wire::ByteChain(all.subspan(view.payload_offset(), end - view.payload_offset())));
  if (plan.icrc == PacketPlan::Icrc::inverted) icrc = ~icrc;
  if (plan.icrc == PacketPlan::Icrc::given) icrc = plan.icrc_value;
  wire::store_icrc(bytes.data() + end, icrc);
}

// RFC 768, over the addresses, the protocol and the datagram; 0 means none, so 0xffff is sent.
void sum_udp(Bytes& bytes, const wire::PacketView& view, const PacketPlan& plan) {
  if (!plan.udp_checksum || plan.version == wire::RoceVersion::v1) return;
  const std::size_t udp = view.bth_offset() - wire::UdpHeader::kSize;
  const std::size_t size = bytes.size() - udp;
  const std::size_t addresses = plan.over_ipv4() ? 8 : 32;
  Bytes pseudo(bytes.begin() + static_cast<std::ptrdiff_t>(udp - addresses), bytes.end());
  wire::put(pseudo.data() + addresses, wire::UdpHeader::kChecksum, 0);
  const std::uint16_t sum =
      wire::internet_checksum(pseudo, static_cast<std::uint32_t>(size + wire::ip_protocol::kUdp));
  wire::put(bytes.data() + udp, wire::UdpHeader::kChecksum, sum == 0 ? 0xffff : sum);
}

}  // namespace

bool has_field(const PacketPlan& plan, const fabric::FieldValue& value) {
  return fabric::can_hold(Places(plan).view(), value);
}

Bytes build_frame(const PacketPlan& plan) {
  const Places places(plan);
  const wire::PacketView& view = places.view();
  const std::size_t pad = plan.pad.value_or((4 - plan.payload.size() % 4) % 4);
  PacketPlan padded = plan;
  padded.headers.bth.pad_count = static_cast<std::uint8_t>(pad & 3);
  Bytes bytes = frame_around(padded, plan.payload, pad);
  write_fields(bytes, view, plan);
  sum_ipv4(bytes, view, plan);
  write_icrc(bytes, view, plan);
  sum_udp(bytes, view, plan);
  if (plan.ethertype) {
    wire::store_be16(bytes.data() + view.network_offset() - 2, *plan.ethertype);
  }
  bytes.insert(bytes.end(), plan.trailer.begin(), plan.trailer.end());
  return bytes;
}

}  // namespace softrnic::craft
