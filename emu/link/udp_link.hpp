// SPDX-License-Identifier: BSD-3-Clause
// A link of plain UDP sockets: RoCE v2 from and to one address of this machine, without privilege.
//
// The NIC sees Ethernet frames as on any link. Sent ones lose their headers, of which the kernel
// writes its own; received ones get them back (udp_transmitter.hpp, udp_receiver.hpp). There is
// one GID, the address; what is not RoCE v2 is not carried.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "link/link.hpp"

namespace softrnic::link {

struct UdpOptions {
  std::string address;
  // Whether the kernel may cut up and put together what is sent and received as one piece, where it
  // can; else every packet goes alone.
  bool offload = true;
  // What frames are to fit in, if that is less than what the address's interface takes; 0: 4200.
  std::uint32_t mtu = 0;

  // "127.0.0.2", "fd00::1,offload=off".
  static wire::Expected<UdpOptions, OpenError> parse(std::string_view text);
};

wire::Expected<std::unique_ptr<Link>, OpenError> open_udp(const UdpOptions& options);

}  // namespace softrnic::link
