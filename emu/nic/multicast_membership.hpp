// SPDX-License-Identifier: BSD-3-Clause
// Tells the network which multicast groups the NIC hears, so that routers and snooping switches
// send them here: reports when a group is joined and when somebody asks, a leave at the end
// (RFC 2236 for IPv4, RFC 2710 for IPv6).
//
// Reports of others do not silence ours: a switch that snoops keeps them from each other anyway,
// and the later versions of both protocols have dropped it (RFC 3376, A.2).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "nic/deadline_queue.hpp"
#include "nic/frame_sender.hpp"
#include "nic/interface_identity.hpp"
#include "nic/ip_datagram.hpp"
#include "nic/random_source.hpp"
#include "wire/group_membership.hpp"

namespace softrnic::nic {

class MulticastMembership {
 public:
  // How long the second report of a new member waits at most, in case the first was lost
  // (RFC 2236, 8.10; RFC 2710, 7.10).
  static constexpr wire::Duration kUnsolicitedInterval = std::chrono::seconds(10);

  MulticastMembership(const InterfaceIdentity& identity, FrameSender& frames, std::uint64_t seed)
      : identity_(identity), frames_(frames), random_(seed | 1) {}

  void join(wire::Instant now, const wire::Gid& group);
  void leave(const wire::Gid& group);

  // Whether queries for all IPv4 groups come to this address.
  bool takes(const wire::MacAddress& destination) const;
  // True when the datagram was a membership message, well-formed or not.
  bool on_datagram(wire::Instant now, const IpDatagram& datagram);

  // Sends up to `most` of the messages that are due; returns how many.
  std::size_t send_due(wire::Instant now, std::size_t most);
  wire::Instant next_deadline() const;

 private:
  struct Member : Timed {
    wire::Gid group;
    wire::Instant due = wire::kNever;
    int unsolicited = 0;  // reports still to come without being asked for
  };

  void on_query(wire::Instant now, const wire::MembershipMessage& query, bool ipv4);
  void schedule(Member& member, wire::Instant due);
  wire::Duration random_below(wire::Duration most);
  void send(wire::Instant now, const wire::MembershipMessage& message);
  void send_igmp(wire::Instant now, const wire::MembershipMessage& message);
  void send_mld(wire::Instant now, const wire::MembershipMessage& message);
  void send_to(wire::Instant now, const IpDatagram& datagram);

  const InterfaceIdentity& identity_;
  FrameSender& frames_;
  RandomSource random_;
  std::map<wire::Gid, Member> members_;  // in order, so that the same seed sends the same
  DeadlineQueue due_;
  std::vector<wire::Gid> leaving_;
};

}  // namespace softrnic::nic
