// SPDX-License-Identifier: BSD-3-Clause
// Where the network header stands in a captured frame, whatever the link was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/bytes.hpp"

namespace softrnic::capture {

enum class LinkType : std::uint8_t {
  ethernet,        // with any number of VLAN tags
  linux_cooked,    // "any" of Linux, 16 bytes
  linux_cooked_2,  // the same with the interface's index, 20 bytes
  raw_ip,
  erf,         // Endace's records; those of Ethernet, IP and InfiniBand are looked into
  infiniband,  // native: from the local route header on
  other,       // not looked into
};

// In the registry of link types, which capture files use.
std::uint16_t registry_number(LinkType link_type);
std::optional<LinkType> link_type_of(std::uint32_t registry_number);

struct NetworkStart {
  std::uint16_t ethertype = 0;  // 0: of no Ethernet protocol
  std::size_t offset = 0;       // from the start of the record
  bool tunnelled = false;       // inside another packet
  bool native = false;          // InfiniBand: the local route header begins here
  std::size_t end = 0;          // of the frame as it was on the wire; 0: the record tells
};

// Of an Ethernet frame that begins at `offset`, behind its tags. Nothing when the record ends
// before.
std::optional<NetworkStart> behind_ethernet(wire::ByteView record, std::size_t offset);

// Of the innermost packet, where some lie in tunnels. Nothing when the record ends before it can be
// told.
std::optional<NetworkStart> find_network(LinkType link_type, wire::ByteView record);

}  // namespace softrnic::capture
