// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/header_field.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace softrnic::fabric {

namespace {

using wire::Field;

// The transport headers in the order in which they stand on the wire; the BTH, which every
// packet has, belongs to no bit of the opcode table.
struct TransportHeader {
  std::string_view name;
  std::uint16_t extension;
  std::size_t size;
  std::span<const Field> fields;
};

constexpr std::array<TransportHeader, 10> kTransportHeaders{{
    {"bth", 0, wire::Bth::kSize, wire::Bth::kFields},
    {"xrceth", wire::kXrceth, wire::Xrceth::kSize, wire::Xrceth::kFields},
    {"deth", wire::kDeth, wire::Deth::kSize, wire::Deth::kFields},
    {"feth", wire::kFeth, wire::Feth::kSize, wire::Feth::kFields},
    {"reth", wire::kReth, wire::Reth::kSize, wire::Reth::kFields},
    {"atomic_eth", wire::kAtomicEth, wire::AtomicEth::kSize, wire::AtomicEth::kFields},
    {"aeth", wire::kAeth, wire::Aeth::kSize, wire::Aeth::kFields},
    {"atomic_ack_eth", wire::kAtomicAckEth, wire::AtomicAckEth::kSize, wire::AtomicAckEth::kFields},
    {"immdt", wire::kImmDt, wire::ImmDt::kSize, wire::ImmDt::kFields},
    {"ieth", wire::kIeth, wire::Ieth::kSize, wire::Ieth::kFields},
}};

// Addresses are wider than the 64-bit field reader's, but have places all the same.
constexpr std::array kIpv6Addresses{
    Field{"source", wire::Ipv6Header::kSourceOffset * 8, 128},
    Field{"destination", wire::Ipv6Header::kDestinationOffset * 8, 128}};

struct QualifiedName {
  std::optional<std::string_view> header;  // any, when there is none
  std::string_view field;
};

QualifiedName split(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {std::nullopt, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool names(const QualifiedName& name, std::string_view header) {
  return !name.header || *name.header == header;
}

std::optional<BitRange> find_in(std::span<const Field> fields, std::string_view name,
                                std::size_t header_offset) {
  for (const Field& field : fields) {
    if (field.name == name) return BitRange{header_offset * 8 + field.bit_offset, field.bit_width};
  }
  return std::nullopt;
}

std::optional<BitRange> find_in_ipv6(std::string_view name, std::size_t offset) {
  if (const auto place = find_in(wire::Ipv6Header::kFields, name, offset)) return place;
  return find_in(kIpv6Addresses, name, offset);
}

std::optional<BitRange> find_in_network(const wire::PacketView& packet, const QualifiedName& name) {
  const std::size_t offset = packet.network_offset();
  switch (packet.network_layer()) {
    case wire::NetworkLayer::ipv4:
      if (names(name, "ipv4")) return find_in(wire::Ipv4Header::kFields, name.field, offset);
      break;
    case wire::NetworkLayer::ipv6:
      if (names(name, "ipv6")) return find_in_ipv6(name.field, offset);
      break;
    case wire::NetworkLayer::grh:
      if (names(name, "grh")) return find_in_ipv6(name.field, offset);
      break;
  }
  return std::nullopt;
}

}  // namespace

std::size_t header_field_width(std::string_view text) {
  const QualifiedName name = split(text);
  std::size_t width = 0;
  const auto look = [&](std::string_view header, std::span<const Field> fields) {
    if (!names(name, header)) return;
    width = std::max(width, find_in(fields, name.field, 0).value_or(BitRange{}).count);
  };
  for (const TransportHeader& header : kTransportHeaders) look(header.name, header.fields);
  look("udp", wire::UdpHeader::kFields);
  look("ipv4", wire::Ipv4Header::kFields);
  for (const std::string_view header : {"ipv6", "grh"}) {
    look(header, wire::Ipv6Header::kFields);
    look(header, kIpv6Addresses);
  }
  return width;
}

void for_each_header_field(const std::function<void(std::string_view name)>& visit) {
  const auto visit_all = [&](std::string_view header, std::span<const Field> fields) {
    for (const Field& field : fields) {
      std::string name(header);
      visit(name.append(".").append(field.name));
    }
  };
  for (const TransportHeader& header : kTransportHeaders) visit_all(header.name, header.fields);
  visit_all("udp", wire::UdpHeader::kFields);
  visit_all("ipv4", wire::Ipv4Header::kFields);
  for (const std::string_view header : {"ipv6", "grh"}) {
    visit_all(header, wire::Ipv6Header::kFields);
    visit_all(header, kIpv6Addresses);
  }
}

bool is_header_field(std::string_view name) {
  return header_field_width(name) > 0;
}

std::optional<BitRange> find_header_field(const wire::PacketView& packet, std::string_view text) {
  const QualifiedName name = split(text);
  std::size_t offset = packet.bth_offset();
  for (const TransportHeader& header : kTransportHeaders) {
    const std::uint16_t bit = header.extension;
    if (bit != 0 && (packet.opcode().extension_headers & bit) == 0) continue;
    if (names(name, header.name)) {
      if (const auto place = find_in(header.fields, name.field, offset)) return place;
    }
    offset += header.size;
  }
  if (packet.version() == wire::RoceVersion::v2 && names(name, "udp")) {
    const std::size_t udp = packet.bth_offset() - wire::UdpHeader::kSize;
    if (const auto place = find_in(wire::UdpHeader::kFields, name.field, udp)) return place;
  }
  return find_in_network(packet, name);
}

}  // namespace softrnic::fabric
