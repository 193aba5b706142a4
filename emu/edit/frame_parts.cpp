// SPDX-License-Identifier: BSD-3-Clause
#include "edit/frame_parts.hpp"

#include <algorithm>
#include <array>

#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"
#include "wire/transport_headers.hpp"
#include "wire/udp.hpp"

namespace softrnic::edit {
namespace {

using capture::HeaderFault;
using wire::Bth;
using wire::ByteView;
using wire::Ipv4Header;
using wire::Ipv6Header;
using wire::UdpHeader;

constexpr std::size_t kIcrcSize = 4;

// Whether what a RoCE packet consists of can be told. Lengths are looked at where the parts are
// taken, as a reading names but the first of several faults.
bool is_told(HeaderFault fault) {
  switch (fault) {
    case HeaderFault::none:
    case HeaderFault::ip_checksum:
    case HeaderFault::transport_version:
    case HeaderFault::reserved_opcode:
    case HeaderFault::headers_too_long:
    case HeaderFault::bad_pad:
      return true;
    default:
      return false;
  }
}

Layer layer_of(std::uint16_t ethertype) {
  switch (ethertype) {
    case wire::ethertype::kIpv4:
      return Layer::ipv4;
    case wire::ethertype::kIpv6:
      return Layer::ipv6;
    case wire::ethertype::kRoceV1:
      return Layer::grh;
    case wire::ethertype::kArp:
      return Layer::arp;
    default:
      return Layer::none;
  }
}

void assign(Bytes& part, ByteView bytes) {
  part.assign(bytes.begin(), bytes.end());
}

// Takes up to `size` bytes from the front of `rest`.
ByteView take(ByteView& rest, std::size_t size) {
  const ByteView taken = rest.first(std::min(size, rest.size()));
  rest = rest.subspan(taken.size());
  return taken;
}

// A packet in a tunnel is what the outer packet carries, and edited as little as any other payload.
std::optional<capture::NetworkStart> find_outer_network(capture::LinkType type, ByteView record) {
  const auto start = capture::find_network(type, record);
  if (!start || !start->tunnelled) return start;
  constexpr std::size_t kCookedProtocol = 14;
  constexpr std::size_t kEthernetProtocol = 12;
  switch (type) {
    case capture::LinkType::ethernet:
      return capture::behind_ethernet(record, 0);
    case capture::LinkType::linux_cooked:
      return capture::behind_ethernet(record, kCookedProtocol - kEthernetProtocol);
    case capture::LinkType::raw_ip:
      return capture::NetworkStart{
          wire::load_u8(record.data()) >> 4 == 4 ? wire::ethertype::kIpv4 : wire::ethertype::kIpv6,
          0};
    default:
      return std::nullopt;
  }
}

wire::Gid gid_at(const std::byte* p) {
  wire::Gid gid;
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) gid.bytes[i] = wire::load_u8(p + i);
  return gid;
}

struct ExtensionSize {
  wire::ExtensionHeader header;
  std::size_t size;
};
// In the order of the wire (IBTA vol. 1, 9.1).
constexpr std::array<ExtensionSize, 10> kExtensions{{
    {wire::kXrceth, wire::Xrceth::kSize},
    {wire::kDeth, wire::Deth::kSize},
    {wire::kFeth, wire::Feth::kSize},
    {wire::kReth, wire::Reth::kSize},
    {wire::kAtomicEth, wire::AtomicEth::kSize},
    {wire::kAeth, wire::Aeth::kSize},
    {wire::kAtomicAckEth, wire::AtomicAckEth::kSize},
    {wire::kImmDt, wire::ImmDt::kSize},
    {wire::kIeth, wire::Ieth::kSize},
    {wire::kCnpReserved, wire::CnpReserved::kSize},
}};

}  // namespace

std::size_t FrameParts::size_network(ByteView behind_link) const {
  if (layer == Layer::ipv6 || layer == Layer::grh) return Ipv6Header::kSize;
  if (layer != Layer::ipv4 || behind_link.empty()) return 0;
  return std::size_t{wire::load_u8(behind_link.data())} % 16 * 4;
}

void FrameParts::take_apart(capture::LinkType type, const capture::Record& record,
                            const capture::PacketReading& reading) {
  link_type = type;
  layer = Layer::none;
  roce_ = false;
  body_lacks = trailer_lacks = 0;
  network.clear();
  udp.clear();
  body.clear();
  trailer.clear();

  ByteView rest = record.bytes;
  const auto lacks = static_cast<std::uint32_t>(
      record.wire_size > rest.size() ? record.wire_size - rest.size() : 0);
  const auto start = find_outer_network(type, record.bytes);
  assign(link, take(rest, start ? start->offset : rest.size()));
  if (!start) {
    body_lacks = lacks;
    return;
  }
  layer = layer_of(start->ethertype);
  const std::size_t header = size_network(rest);
  const std::size_t least = layer == Layer::ipv4 ? Ipv4Header::kSize : header;
  if (header < least || rest.size() < header) layer = Layer::none;
  // Cut, or broken: only the link's header can be told.
  if (layer == Layer::none || layer == Layer::arp) {
    assign(body, rest);
    body_lacks = lacks;
    return;
  }
  const std::byte* ip = rest.data();
  std::size_t announced = layer == Layer::ipv4 ? wire::get(ip, Ipv4Header::kTotalLength)
                                               : wire::get(ip, Ipv6Header::kPayloadLength) + header;
  const std::size_t there = rest.size() + lacks;
  const bool fits = announced >= header && announced <= there;
  if (!fits) announced = there;
  announced -= header;
  roce_ = fits && !reading.tunnelled && reading.is_roce() && is_told(reading.fault) &&
          transport_fits(rest.subspan(header), announced);
  if (layer == Layer::grh && !roce_) {
    layer = Layer::none;
    assign(body, rest);
    body_lacks = lacks;
    return;
  }
  assign(network, take(rest, header));
  if (roce_ && layer != Layer::grh) {
    assign(udp, take(rest, UdpHeader::kSize));
    announced -= UdpHeader::kSize;
  }
  assign(body, take(rest, announced));
  assign(trailer, rest);
  body_lacks = static_cast<std::uint32_t>(announced - body.size());
  trailer_lacks = lacks - body_lacks;
}

// Whether UDP's length, if there is one, is what the network header leaves, and BTH and ICRC fit.
bool FrameParts::transport_fits(ByteView transport, std::size_t size) const {
  if (layer != Layer::grh) {
    if (size < UdpHeader::kSize || transport.size() < UdpHeader::kSize) return false;
    if (wire::get(transport.data(), UdpHeader::kLength) != size) return false;
    size -= UdpHeader::kSize;
  }
  return size >= Bth::kSize + kIcrcSize;
}

void FrameParts::put_together(Bytes& out) const {
  out.clear();
  for (const Bytes* part : {&link, &network, &udp, &body, &trailer}) {
    out.insert(out.end(), part->begin(), part->end());
  }
}

std::uint32_t FrameParts::wire_size() const {
  return static_cast<std::uint32_t>(link.size() + network.size() + udp.size() + body.size() +
                                    trailer.size() + body_lacks + trailer_lacks);
}

wire::NetworkLayer FrameParts::network_layer() const {
  if (layer == Layer::grh) return wire::NetworkLayer::grh;
  return layer == Layer::ipv4 ? wire::NetworkLayer::ipv4 : wire::NetworkLayer::ipv6;
}

wire::Gid FrameParts::source() const {
  if (network.empty()) return {};
  if (layer == Layer::ipv4) {
    return wire::Gid::from_ipv4(
        static_cast<std::uint32_t>(wire::get(network.data(), Ipv4Header::kSource)));
  }
  return gid_at(network.data() + Ipv6Header::kSourceOffset);
}

wire::Gid FrameParts::destination() const {
  if (network.empty()) return {};
  if (layer == Layer::ipv4) {
    return wire::Gid::from_ipv4(
        static_cast<std::uint32_t>(wire::get(network.data(), Ipv4Header::kDestination)));
  }
  return gid_at(network.data() + Ipv6Header::kDestinationOffset);
}

const std::byte* FrameParts::bth() const {
  return roce_ && body.size() >= Bth::kSize ? body.data() : nullptr;
}

std::byte* FrameParts::bth() {
  return roce_ && body.size() >= Bth::kSize ? body.data() : nullptr;
}

const wire::OpcodeInfo* FrameParts::opcode() const {
  const std::byte* p = bth();
  if (p == nullptr || wire::get(p, Bth::kVersion) != 0) return nullptr;
  return wire::find_opcode(wire::load_u8(p));
}

std::byte* FrameParts::extension(wire::ExtensionHeader wanted) {
  const wire::OpcodeInfo* row = opcode();
  if (headers_size() == 0 || !row->has(wanted)) return nullptr;
  std::size_t offset = Bth::kSize;
  for (const ExtensionSize& extension : kExtensions) {
    if (extension.header == wanted) {
      return offset + extension.size <= body.size() ? body.data() + offset : nullptr;
    }
    if (row->has(extension.header)) offset += extension.size;
  }
  return nullptr;
}

std::size_t FrameParts::headers_size() const {
  const wire::OpcodeInfo* row = opcode();
  if (row == nullptr) return 0;
  const std::size_t headers = Bth::kSize + row->extension_size;
  return headers + kIcrcSize <= body.size() + body_lacks ? headers : 0;
}

wire::ByteSpan FrameParts::padded_payload() {
  const std::size_t headers = headers_size();
  if (headers == 0 || headers > body.size()) return {};
  const std::size_t padded = body.size() + body_lacks - headers - kIcrcSize;
  return wire::ByteSpan(body).subspan(headers, std::min(padded, body.size() - headers));
}

std::size_t FrameParts::payload_size() const {
  const std::size_t headers = headers_size();
  if (headers == 0) return 0;
  const std::size_t padded = body.size() + body_lacks - headers - kIcrcSize;
  const std::size_t pad = wire::get(body.data(), Bth::kPadCount);
  return pad > padded ? 0 : padded - pad;
}

wire::ByteSpan FrameParts::payload() {
  const wire::ByteSpan padded = padded_payload();
  return padded.first(std::min(padded.size(), payload_size()));
}

void FrameParts::set_lengths() {
  std::size_t size = body.size() + body_lacks + udp.size();
  if (!udp.empty()) wire::put(udp.data(), UdpHeader::kLength, size);
  if (network.empty()) return;
  if (layer == Layer::ipv4) {
    size += network.size();
    wire::put(network.data(), Ipv4Header::kTotalLength, size);
  } else {
    wire::put(network.data(), Ipv6Header::kPayloadLength, size);
  }
}

}  // namespace softrnic::edit
