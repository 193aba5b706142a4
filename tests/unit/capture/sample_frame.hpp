// SPDX-License-Identifier: BSD-3-Clause
// Frames of RoCE as a wire would carry them, built layer by layer, for tests to alter.
#pragma once

#include <functional>
#include <vector>

#include "capture/packet_reading.hpp"
#include "wire/ethernet.hpp"
#include "wire/icrc.hpp"
#include "wire/udp.hpp"

namespace softrnic::capture::test {

using Bytes = std::vector<std::byte>;
using wire::NetworkLayer;
using wire::Opcode;

struct Sample {
  NetworkLayer layer = NetworkLayer::ipv4;
  Opcode opcode = Opcode::rc_send_only;
  std::uint32_t psn = 100;
  std::uint32_t qpn = 0x12;
  std::uint32_t payload = 5;
  bool from_alice = true;
  // Before the ICRC is calculated, so that it is right all the same.
  std::function<void(wire::TransportHeaders&)> headers{};
  std::function<void(wire::Ipv4Header&)> ipv4{};
  std::function<void(wire::Ipv6Header&)> ipv6{};
  std::function<void(wire::UdpHeader&)> udp{};
};

template <class Header>
void append(Bytes& bytes, const Header& header) {
  const std::size_t at = bytes.size();
  bytes.resize(at + Header::kSize);
  header.serialize(std::span<std::byte, Header::kSize>(bytes.data() + at, Header::kSize));
}

inline void append_transport(Bytes& bytes, const Sample& sample) {
  wire::TransportHeaders headers;
  headers.bth.opcode = sample.opcode;
  headers.bth.destination_qpn = sample.qpn;
  headers.bth.psn = wire::Psn(sample.psn);
  headers.bth.pad_count = static_cast<std::uint8_t>(-sample.payload & 3);
  headers.reth.dma_length = sample.payload;
  if (sample.headers) sample.headers(headers);
  const std::size_t at = bytes.size();
  bytes.resize(at + headers.size());
  headers.serialize(wire::ByteSpan(bytes).subspan(at));
  bytes.resize(bytes.size() + (sample.payload + 3) / 4 * 4, std::byte{0x5a});
}

inline void append_network(Bytes& bytes, const Sample& sample, std::size_t size) {
  const auto alice = wire::Gid::from_ipv4(0x0a000001);
  const auto bob = wire::Gid::from_ipv4(0x0a000002);
  const auto& source = sample.from_alice ? alice : bob;
  const auto& destination = sample.from_alice ? bob : alice;
  if (sample.layer == NetworkLayer::ipv4) {
    wire::Ipv4Header ip;
    ip.source = source.ipv4();
    ip.destination = destination.ipv4();
    ip.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::kSize + size);
    if (sample.ipv4) sample.ipv4(ip);
    if (ip.checksum == 0) ip.checksum = ip.computed_checksum();
    append(bytes, ip);
    return;
  }
  wire::Ipv6Header ip;
  ip.source = source;
  ip.destination = destination;
  ip.payload_length = static_cast<std::uint16_t>(size);
  if (sample.layer == NetworkLayer::grh) ip.next_header = wire::ip_protocol::kGrhBth;
  if (sample.ipv6) sample.ipv6(ip);
  append(bytes, ip);
}

// From the network header to the ICRC.
inline Bytes packet(const Sample& sample) {
  Bytes transport;
  append_transport(transport, sample);
  const bool v2 = sample.layer != NetworkLayer::grh;
  const std::size_t size = transport.size() + 4 + (v2 ? wire::UdpHeader::kSize : 0);
  Bytes bytes;
  append_network(bytes, sample, size);
  if (v2) {
    wire::UdpHeader udp;
    udp.source_port = 0xc001;
    udp.length = static_cast<std::uint16_t>(size);
    if (sample.udp) sample.udp(udp);
    append(bytes, udp);
  }
  const std::size_t bth = bytes.size();
  bytes.insert(bytes.end(), transport.begin(), transport.end());
  const wire::ByteView all(bytes);
  const std::size_t headers = bth + wire::Bth::kSize;
  const std::uint32_t icrc =
      wire::icrc(sample.layer, all.first(headers), bth, wire::ByteChain(all.subspan(headers)));
  bytes.resize(bytes.size() + 4);
  wire::store_icrc(bytes.data() + bytes.size() - 4, icrc);
  return bytes;
}

inline std::uint16_t ethertype_of(NetworkLayer layer) {
  switch (layer) {
    case NetworkLayer::ipv4:
      return wire::ethertype::kIpv4;
    case NetworkLayer::ipv6:
      return wire::ethertype::kIpv6;
    case NetworkLayer::grh:
      break;
  }
  return wire::ethertype::kRoceV1;
}

// With an Ethernet header in front.
inline Bytes frame(const Sample& sample) {
  wire::EthernetHeader ethernet;
  ethernet.ethertype = ethertype_of(sample.layer);
  Bytes bytes(ethernet.size());
  ethernet.serialize(bytes);
  const Bytes inner = packet(sample);
  bytes.insert(bytes.end(), inner.begin(), inner.end());
  return bytes;
}

// `captured`: bytes that the capture kept; 0: all.
inline Record record_of(const Bytes& bytes, std::uint32_t number = 1, std::size_t captured = 0) {
  Record record;
  record.number = number;
  record.at = wire::Instant(std::chrono::seconds(1000) + std::chrono::microseconds(number));
  record.wire_size = static_cast<std::uint32_t>(bytes.size());
  record.bytes = wire::ByteView(bytes).first(captured == 0 ? bytes.size() : captured);
  return record;
}

}  // namespace softrnic::capture::test
