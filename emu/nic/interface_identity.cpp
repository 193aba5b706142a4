// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface_identity.hpp"

#include <algorithm>

#include "wire/icmp.hpp"

namespace softrnic::nic {
namespace {

constexpr wire::MacAddress kAllNodes{{0x33, 0x33, 0, 0, 0, 1}};  // of ff02::1 (RFC 2464, 7)

}  // namespace

InterfaceIdentity::InterfaceIdentity(const wire::MacAddress& mac, std::optional<wire::VlanTag> vlan,
                                     GidTable gids, std::optional<std::uint16_t> udp_source_port)
    : mac_(mac),
      vlan_(vlan),
      gids_(std::move(gids)),
      udp_source_port_(udp_source_port),
      groups_{kAllNodes} {
  for (const wire::Gid& address : gids_.addresses()) {
    if (address.is_ipv4_mapped()) continue;
    groups_.push_back(wire::multicast_mac(wire::solicited_node_multicast(address)));
  }
}

bool InterfaceIdentity::takes(const wire::MacAddress& destination) const {
  if (destination == mac_) return true;
  if (!destination.is_multicast()) return false;
  return destination == wire::MacAddress::broadcast() ||
         std::find(groups_.begin(), groups_.end(), destination) != groups_.end();
}

bool InterfaceIdentity::takes(const std::optional<wire::VlanTag>& tag) const {
  const std::uint16_t id = tag ? tag->id : 0;
  return id == (vlan_ ? vlan_->id : 0);
}

wire::EthernetHeader InterfaceIdentity::header_to(const wire::MacAddress& destination,
                                                  std::uint16_t ethertype) const {
  return {destination, mac_, vlan_, ethertype};
}

}  // namespace softrnic::nic
