// SPDX-License-Identifier: BSD-3-Clause
// One packet as it is to be, and its bytes: every length and sum made right, but for what is to be
// wrong on purpose.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "craft/payload_text.hpp"
#include "fabric/field_value.hpp"
#include "wire/ethernet.hpp"
#include "wire/gid.hpp"
#include "wire/packet_view.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::craft {

struct PacketPlan {
  enum class Icrc : std::uint8_t { right, inverted, given };

  wire::RoceVersion version = wire::RoceVersion::v2;
  wire::MacAddress source_mac;
  wire::MacAddress destination_mac;
  std::optional<wire::VlanTag> vlan;
  std::optional<std::uint16_t> ethertype;
  wire::Gid source;
  wire::Gid destination;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;             // or time to live
  std::uint16_t identification = 0;        // IPv4
  std::uint16_t source_port = 0;           // UDP
  wire::TransportHeaders headers;          // pad count left to build_frame()
  wire::ByteView payload;                  // must outlive the plan
  std::optional<std::size_t> pad;          // bytes; none: what makes a multiple of four
  std::vector<fabric::FieldValue> fields;  // written last, over everything but the sums
  Icrc icrc = Icrc::right;
  std::uint32_t icrc_value = 0;
  bool udp_checksum = false;  // a right one instead of none
  Bytes trailer;              // behind the ICRC

  bool over_ipv4() const { return version == wire::RoceVersion::v2 && source.is_ipv4_mapped(); }
};

// The fields that the frame of the plan has, whatever they are called.
bool has_field(const PacketPlan& plan, const fabric::FieldValue& value);

Bytes build_frame(const PacketPlan& plan);

}  // namespace softrnic::craft
