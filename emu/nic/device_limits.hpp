// SPDX-License-Identifier: BSD-3-Clause
// What the NIC can do at most (IBTA vol. 1, 11.2.1.2, Query HCA): set when it is made, reported as
// it is, and kept to by everything that makes or changes a resource.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "transport/queue_pair_attributes.hpp"
#include "transport/shared_receive_queue.hpp"

namespace softrnic::nic {

// The values a NIC has unless told otherwise. How far each may be raised, and what it is
// called elsewhere, stands in device_limit_names().
struct DeviceLimits {
  std::uint64_t queue_pairs = 1u << 17;
  std::uint64_t requests = 1u << 15;  // in each of a queue pair's queues
  std::uint64_t sges = 32;            // of a request
  std::uint64_t inline_bytes = 1024;
  std::uint64_t responder_depth = 128;  // READs and atomics a queue pair serves at once
  std::uint64_t initiator_depth = 128;  // and may have outstanding
  std::uint64_t message_bytes = std::uint64_t{1} << 31;
  std::uint64_t path_mtu = 4096;

  std::uint64_t completion_queues = 1u << 18;
  std::uint64_t completions = 1u << 22;  // in a completion queue
  std::uint64_t shared_receive_queues = 1u << 16;
  std::uint64_t shared_requests = 1u << 15;  // in a shared receive queue
  std::uint64_t shared_sges = 32;

  std::uint64_t domains = 1u << 20;
  std::uint64_t regions = 1u << 20;
  std::uint64_t windows = 1u << 20;
  std::uint64_t region_bytes = ~std::uint64_t{0};
  std::uint64_t address_handles = 1u << 20;

  std::uint64_t multicast_groups = 1u << 13;
  std::uint64_t multicast_group_queue_pairs = 1u << 13;  // attached to one group
  std::uint64_t multicast_attachments = 1u << 16;        // in all

  // None above what it can be raised to, and a path MTU that exists.
  DeviceLimits kept_possible() const;

  bool allow(const transport::QueuePairCapacity& capacity) const;
  bool allow(const transport::SharedReceiveQueueCapacity& capacity) const;
  // Whether a queue pair may take the attributes named; the rest of their rules are the
  // transport's.
  bool allow(transport::AttributeMask named,
             const transport::QueuePairAttributes& attributes) const;

  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};

// A limit by the name ibv_devinfo gives it ("max_qp"), or by one in its manner where it has none.
struct DeviceLimitName {
  std::string_view name;
  std::uint64_t DeviceLimits::*value;
  std::uint64_t most;  // to which it can be raised
};

// All of them, in the order of ibv_devinfo.
std::span<const DeviceLimitName> device_limit_names();
// Null when there is none of that name.
const DeviceLimitName* find_device_limit(std::string_view name);

}  // namespace softrnic::nic
