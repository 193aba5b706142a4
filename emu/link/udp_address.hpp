// SPDX-License-Identifier: BSD-3-Clause
// The address of this machine that a udp link is bound to, and the interface that has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "link/link.hpp"
#include "link/socket_address.hpp"

namespace softrnic::link {

struct UdpAddress {
  std::string text;  // as the user gave it
  wire::Gid ip;
  std::uint8_t prefix_length = 0;  // of the interface's subnet, IPv4: 0 to 32
  int interface = 0;               // 0: none that is known has it
  std::uint32_t mtu = 1500;

  // "127.0.0.2", "fd00::1", "fe80::1%eth0". Refuses what is not one host's address, and what is
  // no address of this machine.
  static wire::Expected<UdpAddress, OpenError> find(std::string_view text);

  bool is_ipv4() const { return ip.is_ipv4_mapped(); }
  SocketAddress with_port(std::uint16_t port) const {
    return {ip, port, static_cast<std::uint32_t>(interface)};
  }
  // Whether this machine has the address now.
  bool is_here() const;
};

}  // namespace softrnic::link
