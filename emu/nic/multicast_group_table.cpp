// SPDX-License-Identifier: BSD-3-Clause
#include "nic/multicast_group_table.hpp"

#include <algorithm>
#include <string_view>

#include "wire/icmp.hpp"

namespace softrnic::nic {
namespace {

// The user alone says what is in the tables, so that no peer can choose what collides.
template <class Bytes>
std::size_t hash_of(const Bytes& bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::size_t MulticastGroupTable::Hash::operator()(const wire::Gid& group) const {
  return hash_of(group.bytes);
}

std::size_t MulticastGroupTable::Hash::operator()(const wire::MacAddress& mac) const {
  return hash_of(mac.bytes);
}

std::optional<ResourceError> MulticastGroupTable::attach(const wire::Gid& group,
                                                         QueuePairEntry& entry) {
  if (!entry.is_datagram() || !group.is_multicast()) return ResourceError::bad_group;
  const auto found = groups_.find(group);
  if (found == groups_.end()) {
    if (groups_.size() >= limits_.multicast_groups) return ResourceError::table_full;
  } else {
    const Members& members = found->second;
    if (std::find(members.begin(), members.end(), &entry) != members.end()) return std::nullopt;
    if (members.size() >= limits_.multicast_group_queue_pairs) return ResourceError::table_full;
  }
  if (attachments_ >= limits_.multicast_attachments) return ResourceError::table_full;
  if (found == groups_.end()) ++macs_[wire::multicast_mac(group)];
  groups_[group].push_back(&entry);
  ++attachments_;
  ++entry.attachments;
  return std::nullopt;
}

std::optional<ResourceError> MulticastGroupTable::detach(const wire::Gid& group,
                                                         QueuePairEntry& entry) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return ResourceError::not_attached;
  if (std::erase(found->second, &entry) == 0) return ResourceError::not_attached;
  --attachments_;
  --entry.attachments;
  if (!found->second.empty()) return std::nullopt;
  groups_.erase(found);
  const auto mac = macs_.find(wire::multicast_mac(group));
  if (--mac->second == 0) macs_.erase(mac);
  return std::nullopt;
}

std::span<QueuePairEntry* const> MulticastGroupTable::members(const wire::Gid& group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  return found->second;
}

}  // namespace softrnic::nic
