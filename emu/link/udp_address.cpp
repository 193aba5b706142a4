// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_address.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "link/file_descriptor.hpp"
#include "link/network_interface.hpp"

namespace softrnic::link {

namespace {

wire::Unexpected<OpenError> refuse(std::string_view text, std::string_view why) {
  return wire::Unexpected{OpenError{"udp:" + std::string(text) + ": " + std::string(why)}};
}

wire::Gid gid_of(const sockaddr* address) {
  SocketAddress socket_address;
  std::memcpy(socket_address.get(), address,
              address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return socket_address.ip();
}

bool is_ip(const sockaddr* address) {
  return address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

// Leading ones of a network mask, of IPv4 those behind the mapping.
std::uint8_t length_of(const sockaddr* mask, bool ipv4) {
  if (!is_ip(mask)) return ipv4 ? 32 : 128;
  const wire::Gid gid = gid_of(mask);
  int bits = 0;
  for (std::size_t i = ipv4 ? 12 : 0; i < gid.bytes.size(); ++i) {
    bits += std::countl_one(gid.bytes[i]);
    if (gid.bytes[i] != 0xff) break;
  }
  return static_cast<std::uint8_t>(bits);
}

bool same_subnet(const wire::Gid& a, const wire::Gid& b, std::uint8_t length) {
  if (a.is_ipv4_mapped() != b.is_ipv4_mapped()) return false;
  int bits = length + (a.is_ipv4_mapped() ? 96 : 0);
  for (std::size_t i = 0; i < a.bytes.size() && bits > 0; ++i, bits -= 8) {
    const auto mask = static_cast<std::uint8_t>(bits >= 8 ? 0xff : 0xff << (8 - bits));
    if (((a.bytes[i] ^ b.bytes[i]) & mask) != 0) return false;
  }
  return true;
}

// Of a loopback interface every address of the subnet is the machine's (127.0.0.0/8).
bool has(const ifaddrs& entry, const wire::Gid& ip) {
  if (!is_ip(entry.ifa_addr)) return false;
  const wire::Gid own = gid_of(entry.ifa_addr);
  return own == ip || ((entry.ifa_flags & IFF_LOOPBACK) != 0 &&
                       same_subnet(own, ip, length_of(entry.ifa_netmask, ip.is_ipv4_mapped())));
}

void take_interface(UdpAddress& address, const ifaddrs& entry) {
  address.prefix_length = length_of(entry.ifa_netmask, address.is_ipv4());
  const auto interface = NetworkInterface::find(entry.ifa_name);
  if (!interface) return;
  address.interface = interface->index;
  address.mtu = interface->mtu;
}

// The interface that has the address; of several link-local ones that of the name, if one is given.
void find_interface(UdpAddress& address, std::string_view name) {
  address.prefix_length = address.is_ipv4() ? 32 : 128;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (!name.empty() && name != entry->ifa_name) continue;
    if (!has(*entry, address.ip)) continue;
    take_interface(address, *entry);
    break;
  }
  ::freeifaddrs(list);
}

}  // namespace

wire::Expected<UdpAddress, OpenError> UdpAddress::find(std::string_view text) {
  const std::size_t percent = text.find('%');
  std::string_view digits = text.substr(0, percent);
  const std::string_view name =
      percent == std::string_view::npos ? std::string_view{} : text.substr(percent + 1);
  const auto ip = wire::Gid::from_string(digits);
  const bool named = percent != std::string_view::npos;
  if (!ip || (named && !(ip->is_link_local() && NetworkInterface::valid_name(name)))) {
    return refuse(text, "not an IP address: give one of this machine's, such as udp:127.0.0.2");
  }
  const bool any = ip->is_zero() || (ip->is_ipv4_mapped() && ip->ipv4() == 0);
  if (any) {
    return refuse(text,
                  "stands for every address: give the one that the NIC is to have, of those that "
                  "`ip addr` lists");
  }
  if (ip->is_multicast() || (ip->is_ipv4_mapped() && ip->ipv4() == 0xffffffff)) {
    return refuse(text, "not the address of one host: give one that `ip addr` lists");
  }
  UdpAddress address;
  address.text = text;
  address.ip = *ip;
  find_interface(address, name);
  if (!address.is_here()) {
    return refuse(text, "not an address of this machine: give one that `ip addr` lists");
  }
  return address;
}

bool UdpAddress::is_here() const {
  const FileDescriptor socket(
      ::socket(is_ipv4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress any_port = with_port(0);
  // Without a socket there is no telling; who opens the link will say what is wrong.
  return !socket.valid() || ::bind(socket.get(), any_port.get(), any_port.size()) == 0 ||
         (errno != EADDRNOTAVAIL && errno != EINVAL);
}

}  // namespace softrnic::link
