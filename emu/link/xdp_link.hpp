// SPDX-License-Identifier: BSD-3-Clause
// AF_XDP on an Ethernet interface: RoCE and the NIC's own ARP, neighbour discovery and ping are
// taken before the kernel sees them; all other traffic stays with the kernel.
//
// Every receive queue has its socket; frames are sent through the first. Native XDP where the
// driver has it, generic where not; zero copy where the driver can. Frames larger than a page
// (path MTU 4096) take several buffers, which needs Linux 6.6; on an older one the link offers
// a smaller MTU. The interface is in promiscuous mode while the link is open, since the NIC has a
// MAC address of its own. Needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW of the host.
#pragma once

#include <memory>
#include <string_view>

#include "link/link.hpp"

namespace softrnic::link {

wire::Expected<std::unique_ptr<Link>, OpenError> open_xdp(std::string_view interface);

}  // namespace softrnic::link
