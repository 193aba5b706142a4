// SPDX-License-Identifier: BSD-3-Clause
// Address resolution as spoken on the wire: ARP (RFC 826, RFC 5227) and IPv6 neighbour discovery
// (RFC 4861), both ways. Answers for our addresses, learns as Linux does, sends due probes.
#pragma once

#include "nic/frame_sender.hpp"
#include "nic/interface_identity.hpp"
#include "nic/ip_datagram.hpp"
#include "nic/neighbor_table.hpp"
#include "wire/arp.hpp"
#include "wire/icmp.hpp"

namespace softrnic::nic {

class NeighborDiscovery {
 public:
  NeighborDiscovery(const InterfaceIdentity& identity, NeighborTable& neighbors,
                    FrameSender& frames)
      : identity_(identity), neighbors_(neighbors), frames_(frames) {}

  // `bytes`: what follows the Ethernet header.
  void on_arp(wire::Instant now, wire::ByteView bytes);
  // True when the datagram was a neighbour message, well-formed or not.
  bool on_datagram(wire::Instant now, const IpDatagram& datagram);

  // Sends up to `most` of the probes that are due; returns how many.
  std::size_t send_probes(wire::Instant now, std::size_t most);
  // Tells everyone on the link our addresses, so that no one keeps a former owner's MAC address
  // (RFC 5227, 2.3; RFC 4861, 7.2.6).
  void announce(wire::Instant now);

 private:
  void on_solicitation(wire::Instant now, const IpDatagram& datagram,
                       const wire::NeighborMessage& message);
  void on_advertisement(const wire::NeighborMessage& message);
  bool credible(const wire::Gid& address, const wire::MacAddress& mac) const;
  void probe(wire::Instant now, const wire::Gid& target);
  void send_arp(wire::Instant now, const wire::MacAddress& to, const wire::Arp& arp);
  void send_message(wire::Instant now, const wire::MacAddress& to, const wire::Gid& source,
                    const wire::Gid& destination, const wire::NeighborMessage& message);

  const InterfaceIdentity& identity_;
  NeighborTable& neighbors_;
  FrameSender& frames_;
};

}  // namespace softrnic::nic
