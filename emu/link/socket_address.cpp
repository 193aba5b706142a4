// SPDX-License-Identifier: BSD-3-Clause
#include "link/socket_address.hpp"

#include <cstring>

namespace softrnic::link {

SocketAddress::SocketAddress(const wire::Gid& ip, std::uint16_t port, std::uint32_t scope) : v6_{} {
  if (ip.is_ipv4_mapped()) {
    v4_.sin_family = AF_INET;
    v4_.sin_port = htons(port);
    v4_.sin_addr.s_addr = htonl(ip.ipv4());
    return;
  }
  v6_.sin6_family = AF_INET6;
  v6_.sin6_port = htons(port);
  std::memcpy(&v6_.sin6_addr, ip.bytes.data(), ip.bytes.size());
  if (ip.is_link_local()) v6_.sin6_scope_id = scope;
}

wire::Gid SocketAddress::ip() const {
  if (is_ipv4()) return wire::Gid::from_ipv4(ntohl(v4_.sin_addr.s_addr));
  wire::Gid gid;
  std::memcpy(gid.bytes.data(), &v6_.sin6_addr, gid.bytes.size());
  return gid;
}

}  // namespace softrnic::link
