// SPDX-License-Identifier: BSD-3-Clause
#include "link/network_interface.hpp"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "link/file_descriptor.hpp"

namespace softrnic::link {

namespace {

// Interface requests go through any socket of the network namespace.
class ControlSocket {
 public:
  ControlSocket() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

  int request(unsigned long code, ifreq& argument) const {
    return ::ioctl(socket_.get(), code, &argument) < 0 ? errno : 0;
  }

 private:
  FileDescriptor socket_;
};

ifreq named(std::string_view name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  return request;
}

}  // namespace

bool NetworkInterface::exists(int index) {
  char name[IF_NAMESIZE];
  return ::if_indextoname(static_cast<unsigned>(index), name) != nullptr || errno != ENXIO;
}

bool NetworkInterface::valid_name(std::string_view name) {
  // dev_valid_name() of the kernel; '%' would ask it to choose a number.
  return !name.empty() && name.size() < IFNAMSIZ && name != "." && name != ".." &&
         name.find_first_of("/:% \t\n\v\f\r") == std::string_view::npos;
}

wire::Expected<NetworkInterface, int> NetworkInterface::find(std::string_view name) {
  if (!valid_name(name)) return wire::Unexpected{ENODEV};
  const ControlSocket control;
  ifreq request = named(name);
  NetworkInterface found;
  found.name = name;
  if (const int error = control.request(SIOCGIFINDEX, request)) return wire::Unexpected{error};
  found.index = request.ifr_ifindex;
  if (const int error = control.request(SIOCGIFMTU, request)) return wire::Unexpected{error};
  found.mtu = static_cast<std::uint32_t>(request.ifr_mtu);
  if (const int error = control.request(SIOCGIFFLAGS, request)) return wire::Unexpected{error};
  found.up = (request.ifr_flags & IFF_UP) != 0;
  found.running = (request.ifr_flags & IFF_RUNNING) != 0;
  if (const int error = control.request(SIOCGIFHWADDR, request)) return wire::Unexpected{error};
  found.ethernet = request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
  if (found.ethernet) std::memcpy(found.mac.bytes.data(), request.ifr_hwaddr.sa_data, 6);
  return found;
}

int NetworkInterface::set_mtu(std::uint32_t value) {
  ifreq request = named(name);
  request.ifr_mtu = static_cast<int>(value);
  const int error = ControlSocket().request(SIOCSIFMTU, request);
  if (error == 0) mtu = value;
  return error;
}

int NetworkInterface::set_up(bool value) {
  const ControlSocket control;
  ifreq request = named(name);
  if (const int error = control.request(SIOCGIFFLAGS, request)) return error;
  const int flags = value ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<short>(flags);
  const int error = control.request(SIOCSIFFLAGS, request);
  if (error == 0) up = value;
  return error;
}

std::string error_text(int error) {
  return std::generic_category().message(error);
}

std::string why_unusable(const wire::Expected<NetworkInterface, int>& interface,
                         std::string_view name) {
  const std::string quoted = "\"" + std::string(name) + "\"";
  if (!interface) {
    if (interface.error() != ENODEV) {
      return "cannot ask about interface " + quoted + ": " + error_text(interface.error());
    }
    return "there is no interface " + quoted + ": `ip link` lists those of this network namespace";
  }
  if (!interface->ethernet) {
    return "interface " + quoted + " is not Ethernet: choose an Ethernet, veth or TAP interface";
  }
  if (!interface->up) {
    return "interface " + quoted + " is down: bring it up with `ip link set " + std::string(name) +
           " up`";
  }
  return {};
}

}  // namespace softrnic::link
