// SPDX-License-Identifier: BSD-3-Clause
#include "nic/resource_error.hpp"

#include <cerrno>

namespace softrnic::nic {

int error_number(ResourceError error) {
  switch (error) {
    case ResourceError::table_full:
      return ENOMEM;
    case ResourceError::busy:
      return EBUSY;
    default:
      return EINVAL;
  }
}

std::string_view to_string(ResourceError error) {
  switch (error) {
    case ResourceError::bad_domain:
      return "no such protection domain";
    case ResourceError::bad_completion_queue:
      return "no such completion queue";
    case ResourceError::bad_shared_receive_queue:
      return "no such shared receive queue, or not one for this queue pair";
    case ResourceError::bad_xrc_domain:
      return "no such XRC domain";
    case ResourceError::bad_capacity:
      return "more requests or elements than a queue can have, or fewer than wait in it";
    case ResourceError::bad_service:
      return "the queue pair's type is not one of RC, UC, UD and the two of XRC";
    case ResourceError::qpn_in_use:
      return "the queue pair number is taken";
    case ResourceError::table_full:
      return "the table is full";
    case ResourceError::no_such_queue_pair:
      return "no such queue pair or address handle";
    case ResourceError::no_such_gid:
      return "no GID has this index";
    case ResourceError::bad_destination:
      return "the destination address is zero, a group, or of another IP version than the source";
    case ResourceError::illegal_transition:
      return "the queue pair's state does not allow this transition";
    case ResourceError::bad_attribute:
      return "an attribute is out of its range or missing";
    case ResourceError::mtu_too_large:
      return "the path MTU is larger than the link carries";
    case ResourceError::busy:
      return "something still uses it";
    case ResourceError::bad_group:
      return "the address is no multicast group's, or the queue pair is not UD";
    case ResourceError::not_attached:
      return "the queue pair is not attached to the group";
  }
  return "unknown error";
}

}  // namespace softrnic::nic
