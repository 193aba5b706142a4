// SPDX-License-Identifier: BSD-3-Clause
// Why the NIC did not make, change or give up a resource.
#pragma once

#include <cstdint>
#include <string_view>

namespace softrnic::nic {

enum class ResourceError : std::uint8_t {
  bad_domain,
  bad_completion_queue,
  bad_shared_receive_queue,
  bad_xrc_domain,
  bad_capacity,
  bad_service,
  qpn_in_use,
  table_full,
  no_such_queue_pair,
  no_such_gid,
  bad_destination,  // zero, or another IP version than our GID
  illegal_transition,
  bad_attribute,
  mtu_too_large,  // the path MTU does not fit the link's
  busy,           // something still uses it
  bad_group,      // no multicast address, or a queue pair that is not UD
  not_attached,
};

// What a verbs user gets: EINVAL, but ENOMEM for a full table and EBUSY for what is in use.
int error_number(ResourceError error);

// One clause, without a full stop.
std::string_view to_string(ResourceError error);

}  // namespace softrnic::nic
