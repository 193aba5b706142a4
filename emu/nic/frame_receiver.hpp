// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way in: takes those addressed to us and gives each to who speaks its protocol.
#pragma once

#include <vector>

#include "nic/echo_responder.hpp"
#include "nic/interface_identity.hpp"
#include "nic/multicast_group_table.hpp"
#include "nic/multicast_membership.hpp"
#include "nic/neighbor_discovery.hpp"
#include "nic/packet_receiver.hpp"

namespace softrnic::nic {

class FrameReceiver {
 public:
  struct Parts {
    const InterfaceIdentity& identity;
    const MulticastGroupTable& groups;
    PacketReceiver& packets;
    NeighborDiscovery& discovery;
    MulticastMembership& membership;
    EchoResponder& echo;
    transport::Counters& counters;
  };

  FrameReceiver(const Parts& parts, std::uint32_t mtu) : parts_(parts), joined_(mtu) {}

  void receive(wire::Instant now, const link::Frame& frame);

 private:
  void on_ip(wire::Instant now, const wire::EthernetHeader& ethernet, const wire::ByteChain& frame);
  void on_datagram(wire::Instant now, const wire::EthernetHeader& ethernet,
                   const wire::ByteChain& frame);
  // The frame without its Ethernet header, in one piece; empty when it is too long for that.
  wire::ByteView network_bytes(const wire::EthernetHeader& ethernet, const wire::ByteChain& frame);

  bool takes(const wire::EthernetHeader& ethernet) const;

  Parts parts_;
  std::vector<std::byte> joined_;  // for frames in several segments
};

}  // namespace softrnic::nic
