// SPDX-License-Identifier: BSD-3-Clause
// An IP address and port as the socket calls take it, of either version.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "wire/gid.hpp"

namespace softrnic::link {

class SocketAddress {
 public:
  SocketAddress() : v6_{} {}
  // `scope`: the interface of a link-local address.
  SocketAddress(const wire::Gid& ip, std::uint16_t port, std::uint32_t scope = 0);

  sockaddr* get() { return &any_; }
  const sockaddr* get() const { return &any_; }
  socklen_t size() const { return is_ipv4() ? sizeof v4_ : sizeof v6_; }
  // Of any address.
  static constexpr socklen_t capacity() { return sizeof(sockaddr_in6); }

  bool is_ipv4() const { return any_.sa_family == AF_INET; }
  wire::Gid ip() const;  // an IPv4 address as mapped
  std::uint16_t port() const { return ntohs(is_ipv4() ? v4_.sin_port : v6_.sin6_port); }

 private:
  union {
    sockaddr any_;
    sockaddr_in v4_;
    sockaddr_in6 v6_;
  };
};

}  // namespace softrnic::link
