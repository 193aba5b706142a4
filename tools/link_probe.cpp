// SPDX-License-Identifier: BSD-3-Clause
#include "link_probe.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "link/link.hpp"
#include "link/network_interface.hpp"

namespace softrnic::tools {

namespace {

LinkProbe try_to_open(const std::string& kind, const std::string& interface) {
  const auto link = link::open_link(kind + ":" + interface);
  return {kind, link.has_value(), link ? "" : link.error().message};
}

// The name of an Ethernet interface that is up; empty when there is none.
std::string find_ethernet() {
  std::string found;
  struct if_nameindex* const list = ::if_nameindex();
  for (const struct if_nameindex* entry = list; entry != nullptr && entry->if_index != 0; ++entry) {
    const auto interface = link::NetworkInterface::find(entry->if_name);
    if (found.empty() && interface && interface->ethernet && interface->up) found = entry->if_name;
  }
  if (list != nullptr) ::if_freenameindex(list);
  return found;
}

// A packet socket of no protocol: it shows the right to have one, and receives nothing.
bool lacks_packet_right() {
  const int descriptor = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno == EPERM || errno == EACCES;
  ::close(descriptor);
  return false;
}

// Any address of the loopback network will do that no other program has.
LinkProbe try_udp() {
  const auto link = link::open_link(
      fmt::format("udp:127.{}.{}.254", 1 + ::getpid() / 250 % 250, 1 + ::getpid() % 250));
  return {"udp", link.has_value(), link ? "" : link.error().message};
}

LinkProbe try_on(const std::string& kind, const std::string& interface) {
  if (!interface.empty()) return try_to_open(kind, interface);
  if (kind == "packet" && lacks_packet_right()) {
    return {kind, false, "CAP_NET_RAW is missing: run as root, or inside `unshare -Urn`"};
  }
  return {kind, false, "not tried: there is no Ethernet interface to try it on"};
}

}  // namespace

std::vector<LinkProbe> probe_links() {
  const std::string name = fmt::format("srnic{}", ::getpid());
  // It stays until this function returns.
  const auto tap = link::open_link("tap:" + name);
  const std::string interface = tap ? name : find_ethernet();
  return {try_to_open("shm", name),
          try_udp(),
          {"tap", tap.has_value(), tap ? "" : tap.error().message},
          try_on("packet", interface),
          try_on("xdp", interface)};
}

}  // namespace softrnic::tools
