// SPDX-License-Identifier: BSD-3-Clause
// Who the NIC is on its link: its MAC address, VLAN and GIDs, and with them what is addressed to
// it.
#pragma once

#include <optional>
#include <vector>

#include "nic/gid_table.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::nic {

class InterfaceIdentity {
 public:
  InterfaceIdentity(const wire::MacAddress& mac, std::optional<wire::VlanTag> vlan,
                    std::span<const InterfaceAddress> addresses)
      : InterfaceIdentity(mac, vlan, GidTable(mac, addresses)) {}
  // `udp_source_port`: of every packet, where it cannot be chosen.
  InterfaceIdentity(const wire::MacAddress& mac, std::optional<wire::VlanTag> vlan, GidTable gids,
                    std::optional<std::uint16_t> udp_source_port = {});

  const wire::MacAddress& mac() const { return mac_; }
  const std::optional<wire::VlanTag>& vlan() const { return vlan_; }
  const GidTable& gids() const { return gids_; }
  const std::optional<std::uint16_t>& udp_source_port() const { return udp_source_port_; }

  // Ours, the broadcast address, the all-nodes group, or the solicited-node group of one of our
  // addresses (RFC 4861, 7.2.1).
  bool takes(const wire::MacAddress& destination) const;
  // With a VLAN: its frames. Without: untagged and priority-tagged ones (IEEE 802.1Q, 6.9.1).
  bool takes(const std::optional<wire::VlanTag>& tag) const;

  // The header of a frame to `destination`, tagged when the NIC has a VLAN.
  wire::EthernetHeader header_to(const wire::MacAddress& destination,
                                 std::uint16_t ethertype) const;

 private:
  wire::MacAddress mac_;
  std::optional<wire::VlanTag> vlan_;
  GidTable gids_;
  std::optional<std::uint16_t> udp_source_port_;
  std::vector<wire::MacAddress> groups_;
};

}  // namespace softrnic::nic
