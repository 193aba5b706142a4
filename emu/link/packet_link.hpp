// SPDX-License-Identifier: BSD-3-Clause
// A raw packet socket on an Ethernet interface: whole frames beside the kernel's own traffic.
//
// The interface is put into promiscuous mode while the link is open, so that the NIC may have a
// MAC address of its own; the kernel sees the same frames and ignores those to that address. Once
// the NIC has told its address, frames to other stations are no longer copied to the link. A VLAN
// tag that the kernel took off is put back. The interface's settings stay as they are. Needs
// CAP_NET_RAW in the network namespace, as inside `unshare -Urn`.
#pragma once

#include <memory>
#include <string_view>

#include "link/link.hpp"

namespace softrnic::link {

wire::Expected<std::unique_ptr<Link>, OpenError> open_packet(std::string_view interface);

}  // namespace softrnic::link
