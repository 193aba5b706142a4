// SPDX-License-Identifier: BSD-3-Clause
// A TAP device: the link's peer is the kernel of this host, or a bridge the TAP is a port of.
//
// An existing (persistent) TAP is opened, any other name is made and vanishes with the link. One
// frame per system call. Needs CAP_NET_ADMIN in the network namespace, as inside `unshare -Urn`,
// or a TAP that belongs to the user and is up.
#pragma once

#include <memory>
#include <string_view>

#include "link/link.hpp"

namespace softrnic::link {

// `mtu` 0 keeps what the device has. A TAP that existed gets its MTU and its up or down state
// back when the link is closed.
wire::Expected<std::unique_ptr<Link>, OpenError> open_tap(std::string_view name,
                                                          std::uint32_t mtu = 0);

}  // namespace softrnic::link
