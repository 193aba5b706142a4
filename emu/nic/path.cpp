// SPDX-License-Identifier: BSD-3-Clause
#include "nic/path.hpp"

#include "wire/icmp.hpp"

namespace softrnic::nic {
namespace {

constexpr std::uint32_t kFlowLabelMask = 0xfffff;

bool reaches(const GidEntry& own, const wire::Gid& destination) {
  if (destination.is_zero()) return false;
  // A GRH can hold one of each, and IPv4 groups are ff0e::ffff:a.b.c.d in RoCE v1 (as Linux).
  const bool mixes = own.version == wire::RoceVersion::v1 && destination.is_multicast();
  if (!mixes && own.gid.is_ipv4_mapped() != destination.is_ipv4_mapped()) return false;
  return !destination.is_ipv4_mapped() ||
         (destination.ipv4() != 0 && destination.ipv4() != 0xffffffff);
}

std::optional<wire::VlanTag> tag_of(const InterfaceIdentity& identity,
                                    const AddressAttributes& attributes) {
  auto tag = identity.vlan();
  if (tag && attributes.service_level != 0) tag->priority = attributes.service_level & 7;
  return tag;
}

}  // namespace

wire::Expected<Path, ResourceError> Path::to(const AddressAttributes& attributes,
                                             const InterfaceIdentity& identity,
                                             std::uint32_t own_flow_label) {
  const GidEntry* own = identity.gids().find(attributes.gid_index);
  if (own == nullptr) return wire::Unexpected{ResourceError::no_such_gid};
  if (!reaches(*own, attributes.destination)) {
    return wire::Unexpected{ResourceError::bad_destination};
  }
  Path path;
  wire::AddressVector& vector = path.vector_;
  vector.version = own->version;
  vector.source_mac = identity.mac();
  vector.vlan = tag_of(identity, attributes);
  vector.source = own->gid;
  vector.destination = attributes.destination;
  vector.traffic_class = attributes.traffic_class;
  vector.hop_limit = attributes.hop_limit;
  vector.flow_label = attributes.flow_label & kFlowLabelMask;
  vector.udp_source_port = identity.udp_source_port().value_or(
      wire::source_port_of_flow_label(vector.flow_label != 0 ? vector.flow_label : own_flow_label));
  path.fixed_port_ = identity.udp_source_port().has_value();
  if (vector.destination.is_multicast()) {
    path.kind_ = Kind::group;
    path.state_ = State::ready;
    vector.destination_mac = wire::multicast_mac(vector.destination);
  } else if (identity.gids().owns(vector.destination)) {
    path.kind_ = Kind::local;
    path.state_ = State::ready;
    vector.destination_mac = identity.mac();
  }
  return path;
}

Path::State Path::refresh(wire::Instant now, NeighborTable& neighbors) {
  if (kind_ != Kind::neighbor) return state_;
  if (generation_ == neighbors.generation() && state_ != State::failed) return state_;
  const NeighborTable::Lookup found = neighbors.lookup(now, vector_.destination);
  generation_ = neighbors.generation();
  switch (found.state) {
    case NeighborTable::State::reachable:
      vector_.destination_mac = found.mac;
      state_ = State::ready;
      break;
    case NeighborTable::State::failed:
      state_ = State::failed;
      break;
    case NeighborTable::State::resolving:
      break;
  }
  return state_;
}

}  // namespace softrnic::nic
