// SPDX-License-Identifier: BSD-3-Clause
#include "edit/frame_translation.hpp"

#include "edit/cm_translation.hpp"
#include "edit/link_header.hpp"
#include "edit/network_header.hpp"
#include "edit/other_traffic.hpp"
#include "wire/transport_headers.hpp"
#include "wire/udp.hpp"

namespace softrnic::edit {
namespace {

using wire::Field;
using wire::Gid;

struct Hosts {
  Gid source;
  Gid destination;

  friend bool operator==(const Hosts&, const Hosts&) = default;
};

void number(std::byte* header, const Field& field, const Translation& translation,
            Quantity quantity, const Gid& owner) {
  if (header == nullptr) return;
  wire::put(header, field, translation.number(quantity, wire::get(header, field), owner));
}

// The address first, as its translation asks for the key as it was.
void memory(std::byte* header, const Field& address, const Field& key,
            const Translation& translation, const Gid& owner) {
  if (header == nullptr) return;
  const auto remote_key = static_cast<std::uint32_t>(wire::get(header, key));
  wire::put(header, address,
            translation.virtual_address(wire::get(header, address), remote_key, owner));
  number(header, key, translation, Quantity::remote_key, owner);
}

void translate_transport(FrameParts& frame, const Translation& t, const Hosts& hosts) {
  if (const wire::ByteSpan cm = cm_datagram(frame); !cm.empty()) {
    translate_cm(cm, t, hosts.source, hosts.destination);
  }
  std::byte* bth = frame.bth();
  if (bth == nullptr) return;
  const Gid& owner = hosts.destination;
  number(frame.extension(wire::kXrceth), wire::Xrceth::kSharedReceiveQueue, t,
         Quantity::shared_receive_queue, owner);
  std::byte* deth = frame.extension(wire::kDeth);
  number(deth, wire::Deth::kQueueKey, t, Quantity::queue_key, owner);
  number(deth, wire::Deth::kSourceQpn, t, Quantity::qpn, hosts.source);
  memory(frame.extension(wire::kReth), wire::Reth::kVirtualAddress, wire::Reth::kRemoteKey, t,
         owner);
  memory(frame.extension(wire::kAtomicEth), wire::AtomicEth::kVirtualAddress,
         wire::AtomicEth::kRemoteKey, t, owner);
  number(frame.extension(wire::kImmDt), wire::ImmDt::kData, t, Quantity::immediate, owner);
  number(frame.extension(wire::kIeth), wire::Ieth::kRemoteKey, t, Quantity::remote_key, owner);
  number(bth, wire::Bth::kPartitionKey, t, Quantity::partition_key, owner);
  number(bth, wire::Bth::kDestinationQpn, t, Quantity::qpn, owner);
}

void translate_network(FrameParts& frame, const Translation& t, const Hosts& hosts) {
  if (!frame.udp.empty()) {
    number(frame.udp.data(), wire::UdpHeader::kSourcePort, t, Quantity::udp_port, hosts.source);
  }
  const std::uint64_t before = traffic_class(frame);
  const std::uint64_t dscp = t.number(Quantity::dscp, before >> 2, hosts.source);
  const std::uint64_t ecn = t.number(Quantity::ecn, before & 3, hosts.source);
  set_traffic_class(frame, static_cast<std::uint8_t>(dscp << 2 | (ecn & 3)));
  set_time_to_live(frame, static_cast<std::uint8_t>(
                              t.number(Quantity::time_to_live, time_to_live(frame), hosts.source)));
  if (frame.layer != Layer::ipv4) {
    number(frame.network.data(), wire::Ipv6Header::kFlowLabel, t, Quantity::flow_label,
           hosts.source);
  }
}

Translated translate_roce(FrameParts& frame, const Translation& t) {
  const Hosts hosts{frame.source(), frame.destination()};
  const Hosts after{t.address(hosts.source, Side::source),
                    t.address(hosts.destination, Side::destination)};
  const bool v4 = after.source.is_ipv4_mapped();
  const bool moves = frame.layer != Layer::grh && after != hosts;
  if (moves && v4 != after.destination.is_ipv4_mapped()) return Translated::mixed;
  translate_link(frame, t);
  translate_network(frame, t, hosts);
  translate_transport(frame, t, hosts);
  if (moves && v4) become_ipv4(frame, t.keeps_identification());
  if (moves && !v4) become_ipv6(frame, t.keeps_identification());
  set_addresses(frame, after.source, after.destination);
  return Translated::done;
}

}  // namespace

Translated translate_frame(FrameParts& frame, const Translation& translation) {
  if (frame.is_roce()) return translate_roce(frame, translation);
  return translate_other(frame, translation);
}

}  // namespace softrnic::edit
