// SPDX-License-Identifier: BSD-3-Clause
#include "nic/multicast_membership.hpp"

#include <algorithm>
#include <array>

#include "wire/icmp.hpp"
#include "wire/ipv4.hpp"

namespace softrnic::nic {
namespace {

using wire::Gid;
using wire::MembershipKind;
using wire::MembershipMessage;

// Messages stay on the link (RFC 2236, 2; RFC 2710, 3).
constexpr std::uint8_t kHopLimit = 1;
constexpr std::uint32_t kAllSystems = 0xe0000001;
constexpr int kRobustness = 2;  // reports without being asked for

// All hosts are in the all-hosts groups, and groups that do not leave the host concern no one else
// (RFC 2236, 6; RFC 2710, 5).
bool is_told(const Gid& group) {
  if (group.is_ipv4_mapped()) return group.ipv4() != kAllSystems;
  const int scope = group.bytes[1] & 0xf;
  const Gid all_nodes{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return scope > 1 && group != all_nodes;
}

}  // namespace

void MulticastMembership::join(wire::Instant now, const Gid& group) {
  if (!is_told(group)) return;
  Member& member = members_[group];
  member.group = group;
  member.unsolicited = kRobustness;
  std::erase(leaving_, group);
  due_.reserve(members_.size());
  schedule(member, now);
}

void MulticastMembership::leave(const Gid& group) {
  const auto found = members_.find(group);
  if (found == members_.end()) return;
  due_.remove(found->second);
  members_.erase(found);
  leaving_.push_back(group);
}

bool MulticastMembership::takes(const wire::MacAddress& destination) const {
  return !members_.empty() && destination == wire::multicast_mac(Gid::from_ipv4(kAllSystems));
}

bool MulticastMembership::on_datagram(wire::Instant now, const IpDatagram& datagram) {
  std::optional<MembershipMessage> message;
  if (datagram.is_ipv4()) {
    if (datagram.protocol != wire::ip_protocol::kIgmp) return false;
    message = MembershipMessage::parse_igmp(datagram.payload);
  } else {
    if (datagram.protocol != wire::ip_protocol::kHopByHop) return false;
    message = MembershipMessage::parse_mld(datagram.payload, datagram.source, datagram.destination);
  }
  if (message && message->kind == MembershipKind::query) {
    on_query(now, *message, datagram.is_ipv4());
  }
  return true;
}

// Each group is reported after a time of its own, so that a querier is not flooded (RFC 2236, 3).
void MulticastMembership::on_query(wire::Instant now, const MembershipMessage& query, bool ipv4) {
  for (auto& [group, member] : members_) {
    if (group.is_ipv4_mapped() != ipv4) continue;
    if (!query.group.is_zero() && query.group != group) continue;
    schedule(member, std::min(member.due, now + random_below(query.answer_within)));
  }
}

void MulticastMembership::schedule(Member& member, wire::Instant due) {
  member.due = due;
  due_.set(member, due);
}

wire::Duration MulticastMembership::random_below(wire::Duration most) {
  return wire::Duration(static_cast<std::int64_t>(
      random_.next() % (static_cast<std::uint64_t>(std::max<std::int64_t>(most.count(), 0)) + 1)));
}

std::size_t MulticastMembership::send_due(wire::Instant now, std::size_t most) {
  std::size_t sent = 0;
  for (; sent < most && !leaving_.empty(); ++sent) {
    send(now, {.kind = MembershipKind::leave, .group = leaving_.back()});
    leaving_.pop_back();
  }
  for (; sent < most; ++sent) {
    auto* member = static_cast<Member*>(due_.pop_due(now));
    if (member == nullptr) break;
    send(now, {.kind = MembershipKind::report, .group = member->group});
    member->due = wire::kNever;
    if (member->unsolicited > 0 && --member->unsolicited > 0) {
      schedule(*member, now + random_below(kUnsolicitedInterval));
    }
  }
  return sent;
}

wire::Instant MulticastMembership::next_deadline() const {
  return leaving_.empty() ? due_.next() : wire::Instant::min();
}

void MulticastMembership::send(wire::Instant now, const MembershipMessage& message) {
  if (message.group.is_ipv4_mapped()) {
    send_igmp(now, message);
  } else {
    send_mld(now, message);
  }
}

void MulticastMembership::send_igmp(wire::Instant now, const MembershipMessage& message) {
  // A host without an address says zero, as it may.
  const Gid source = identity_.gids().source_for(message.group).value_or(Gid::from_ipv4(0));
  std::array<std::byte, MembershipMessage::kIgmpSize> bytes;
  message.serialize_igmp(bytes);
  IpDatagram datagram;
  datagram.source = source;
  datagram.destination = message.destination();
  datagram.protocol = wire::ip_protocol::kIgmp;
  datagram.payload = bytes;
  datagram.router_alert = true;
  send_to(now, datagram);
}

void MulticastMembership::send_mld(wire::Instant now, const MembershipMessage& message) {
  // From a link-local address, or it is not believed (RFC 2710, 3); a NIC always has one.
  const auto addresses = identity_.gids().addresses();
  const auto source = std::find_if(addresses.begin(), addresses.end(),
                                   [](const Gid& address) { return address.is_link_local(); });
  if (source == addresses.end()) return;
  const Gid destination = message.destination();
  std::array<std::byte, MembershipMessage::kMldSize> bytes;
  message.serialize_mld(bytes, *source, destination);
  IpDatagram datagram;
  datagram.source = *source;
  datagram.destination = destination;
  datagram.protocol = wire::ip_protocol::kHopByHop;
  datagram.payload = bytes;
  send_to(now, datagram);
}

void MulticastMembership::send_to(wire::Instant now, const IpDatagram& datagram) {
  IpDatagram limited = datagram;
  limited.hop_limit = kHopLimit;
  link::Frame* frame =
      limited.to_frame(identity_, wire::multicast_mac(datagram.destination), frames_);
  if (frame != nullptr) frames_.send(now, frame);  // else as lost on the wire
}

}  // namespace softrnic::nic
