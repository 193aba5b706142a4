// SPDX-License-Identifier: BSD-3-Clause
// Multicast groups and the queue pairs attached to them (IBTA vol. 1, 10.5.2). A group is known by
// its GID: an IPv6 group, or an IPv4 one as mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "nic/device_limits.hpp"
#include "nic/queue_pair_table.hpp"
#include "nic/resource_error.hpp"
#include "wire/ethernet.hpp"
#include "wire/gid.hpp"

namespace softrnic::nic {

class MulticastGroupTable {
 public:
  // The destination queue pair number of every packet to a group (3.5.10).
  static constexpr std::uint32_t kQueuePairNumber = 0xffffff;

  explicit MulticastGroupTable(const DeviceLimits& limits) : limits_(limits) {}

  // Attaching a queue pair again changes nothing.
  std::optional<ResourceError> attach(const wire::Gid& group, QueuePairEntry& entry);
  std::optional<ResourceError> detach(const wire::Gid& group, QueuePairEntry& entry);

  // Those attached to the group, in the order in which they came.
  std::span<QueuePairEntry* const> members(const wire::Gid& group) const;
  // Whether frames to this Ethernet group may be for one of ours.
  bool takes(const wire::MacAddress& destination) const { return macs_.contains(destination); }
  std::size_t size() const { return groups_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const wire::Gid& group) const;
    std::size_t operator()(const wire::MacAddress& mac) const;
  };
  using Members = std::vector<QueuePairEntry*>;

  const DeviceLimits& limits_;
  std::unordered_map<wire::Gid, Members, Hash> groups_;
  // How many groups share the Ethernet group: an address holds less than a GID.
  std::unordered_map<wire::MacAddress, std::size_t, Hash> macs_;
  std::size_t attachments_ = 0;
};

}  // namespace softrnic::nic
