// SPDX-License-Identifier: BSD-3-Clause
// RoCE frames for tests: any opcode, over any network layer.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "wire/address_vector.hpp"
#include "wire/icrc.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::fabric::test {

using Bytes = std::vector<std::byte>;

struct RoceFrame {
  wire::Opcode opcode = wire::Opcode::rc_write_middle;
  std::uint32_t destination_qpn = 0x12;
  std::uint32_t psn = 7;
  wire::Syndrome syndrome{};
  std::size_t payload = 64;
  wire::NetworkLayer layer = wire::NetworkLayer::ipv4;
  std::uint32_t msn = 0;
};

inline wire::AddressVector address_vector(wire::NetworkLayer layer) {
  wire::AddressVector address;
  address.source_mac = {{2, 0, 0, 0, 0, 1}};
  address.destination_mac = {{2, 0, 0, 0, 0, 2}};
  const bool v4 = layer == wire::NetworkLayer::ipv4;
  address.source = *wire::Gid::from_string(v4 ? "10.0.0.1" : "fd00::1");
  address.destination = *wire::Gid::from_string(v4 ? "10.0.0.2" : "fd00::2");
  if (layer == wire::NetworkLayer::grh) address.version = wire::RoceVersion::v1;
  address.traffic_class = 0x62;
  return address;
}

inline Bytes build(const RoceFrame& frame) {
  const wire::AddressVector address = address_vector(frame.layer);
  wire::TransportHeaders headers;
  headers.bth.opcode = frame.opcode;
  headers.bth.destination_qpn = frame.destination_qpn;
  headers.bth.psn = wire::Psn(frame.psn);
  headers.aeth = {frame.syndrome, frame.msn};
  const std::size_t payload = wire::info(frame.opcode).carries_payload ? frame.payload : 0;
  const std::size_t transport = headers.size() + payload + 4;

  Bytes bytes(address.size() + transport);
  address.serialize(bytes, transport, 0x1234);
  const std::size_t bth = address.size();
  headers.serialize(wire::ByteSpan(bytes).subspan(bth));
  const std::size_t body = bth + headers.size();
  for (std::size_t i = 0; i < payload; ++i) bytes[body + i] = static_cast<std::byte>(i);
  constexpr std::size_t kNetwork = wire::EthernetHeader::kSize;
  const wire::ByteView view(bytes);
  wire::store_icrc(bytes.data() + body + payload,
                   wire::icrc(frame.layer, view.subspan(kNetwork, body - kNetwork), bth - kNetwork,
                              view.subspan(body, payload)));
  return bytes;
}

inline wire::PacketView view(const Bytes& bytes) {
  auto packet = wire::PacketView::parse(wire::ByteView(bytes));
  if (!packet) FAIL("not RoCE: " << wire::to_string(packet.error()));
  return *packet;
}

}  // namespace softrnic::fabric::test
