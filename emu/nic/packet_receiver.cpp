// SPDX-License-Identifier: BSD-3-Clause
#include "nic/packet_receiver.hpp"

#include <array>

#include "wire/icmp.hpp"

namespace softrnic::nic {
namespace {

using transport::QueuePairState;

constexpr std::uint8_t kCongestionExperienced = 3;  // ECN field (RFC 3168, 5)
constexpr std::uint16_t kFullMembership = 0x8000;
constexpr std::size_t kGrhRoom = 40;

// Equal in their low 15 bits, which are not zero, and at least one a full member (IBTA vol. 1,
// 10.9.3).
bool partitions_match(std::uint16_t a, std::uint16_t b) {
  const bool same = ((a ^ b) & ~kFullMembership) == 0 && (a & ~kFullMembership) != 0;
  return same && ((a | b) & kFullMembership) != 0;
}

bool takes_packets(QueuePairState state) {
  return state != QueuePairState::reset && state != QueuePairState::init &&
         state != QueuePairState::error;
}

wire::MacAddress destination_mac(const wire::PacketView& packet) {
  return wire::load_mac(packet.frame().front().data());
}

bool comes_from_peer(const Path& path, const wire::PacketView& packet) {
  const wire::AddressVector& vector = path.vector();
  return packet.version() == vector.version && packet.source() == vector.destination &&
         packet.destination() == vector.source;
}

// What stands before a datagram's payload: the GRH or IPv6 header, or 20 zero bytes and the IPv4
// header, as Linux's union rdma_network_hdr has it.
std::array<std::byte, kGrhRoom> grh_of(const wire::PacketView& packet) {
  std::array<std::byte, kGrhRoom> grh{};
  const bool v4 = packet.network_layer() == wire::NetworkLayer::ipv4;
  const std::size_t size = v4 ? wire::Ipv4Header::kSize : wire::Grh::kSize;
  packet.frame().copy_to(packet.network_offset(), wire::ByteSpan(grh).subspan(kGrhRoom - size));
  return grh;
}

}  // namespace

void PacketReceiver::receive(wire::Instant now, const wire::PacketView& packet) {
  if (destination_mac(packet).is_multicast()) return receive_for_group(now, packet);
  if (!is_for_us(packet)) {
    ++counters_.not_for_us;
    return;
  }
  if (!is_intact(packet)) return;
  if (packet.opcode().service == wire::Service::congestion_notification) {
    return on_congestion_notification(packet);
  }
  QueuePairEntry* entry = queue_pairs_.find(packet.bth().destination_qpn);
  if (entry == nullptr) {
    ++counters_.unknown_qpn;
    return;
  }
  receive_for(now, *entry, packet);
}

bool PacketReceiver::is_intact(const wire::PacketView& packet) {
  if (!packet.icrc_ok()) {
    ++counters_.icrc_errors;
    return false;
  }
  ++counters_.rcvd_pkts;
  counters_.rcvd_bytes += packet.size();
  return true;
}

void PacketReceiver::receive_for_group(wire::Instant now, const wire::PacketView& packet) {
  const wire::Gid group = packet.destination();
  const auto members = groups_.members(group);
  const bool mapped_into_ipv6 =
      packet.network_layer() == wire::NetworkLayer::ipv6 && group.is_ipv4_mapped();
  // An Ethernet group stands for many others.
  if (members.empty() || mapped_into_ipv6 ||
      destination_mac(packet) != wire::multicast_mac(group)) {
    ++counters_.not_for_us;
    return;
  }
  if (!is_intact(packet)) return;
  if (packet.bth().destination_qpn != MulticastGroupTable::kQueuePairNumber) {
    ++counters_.unknown_qpn;
    return;
  }
  for (QueuePairEntry* entry : members) receive_for(now, *entry, packet);
}

void PacketReceiver::receive_for(wire::Instant now, QueuePairEntry& entry,
                                 const wire::PacketView& packet) {
  if (std::uint64_t* counter = refusal(entry, packet)) {
    ++*counter;
    return;
  }
  deliver(now, entry, packet);
}

bool PacketReceiver::is_for_us(const wire::PacketView& packet) const {
  if (destination_mac(packet) != identity_.mac()) return false;
  const wire::Gid destination = packet.destination();
  // An IPv4 address mapped into an IPv6 header is not ours, though it reads the same.
  if (packet.network_layer() == wire::NetworkLayer::ipv6 && destination.is_ipv4_mapped()) {
    return false;
  }
  return identity_.gids().owns(destination);
}

std::uint64_t* PacketReceiver::refusal(const QueuePairEntry& entry,
                                       const wire::PacketView& packet) {
  const transport::QueuePair& qp = entry.queue_pair;
  if (packet.opcode().service != qp.service()) return &counters_.wrong_service;
  if (!takes_packets(qp.state())) return &counters_.bad_qp_state;
  if (!entry.is_datagram() && !comes_from_peer(entry.path, packet)) {
    return &counters_.source_mismatch;
  }
  if (!partitions_match(packet.bth().partition_key, qp.attributes().partition_key)) {
    return &counters_.bad_pkey;
  }
  return nullptr;
}

// Nothing slows down yet; the packet is counted as handled when it names a live connection of its
// sender's.
void PacketReceiver::on_congestion_notification(const wire::PacketView& packet) {
  const QueuePairEntry* entry = queue_pairs_.find(packet.bth().destination_qpn);
  const bool handled = entry != nullptr && takes_packets(entry->queue_pair.state()) &&
                       (entry->is_datagram() || comes_from_peer(entry->path, packet));
  ++(handled ? counters_.rp_cnp_handled : counters_.rp_cnp_ignored);
}

void PacketReceiver::deliver(wire::Instant now, QueuePairEntry& entry,
                             const wire::PacketView& packet) {
  if (packet.version() == wire::RoceVersion::v2 && packet.ecn() == kCongestionExperienced) {
    ++counters_.np_ecn_marked_roce_packets;
  }
  transport::InboundPacket inbound{packet.headers(), packet.opcode(), packet.payload(), {}};
  if (entry.is_datagram()) {
    const auto grh = grh_of(packet);
    inbound.grh = grh;
    entry.queue_pair.on_packet(now, inbound);
  } else {
    entry.queue_pair.on_packet(now, inbound);
  }
  scheduler_.touch(entry);
}

}  // namespace softrnic::nic
