// SPDX-License-Identifier: BSD-3-Clause
// The XDP program in the kernel: loaded, attached to an interface, told whose traffic to take.
//
// It hangs on a bpf_link, which the kernel drops with the last descriptor to it: however the
// process ends, the interface is left without a program.
#pragma once

#include <memory>
#include <span>

#include "link/link.hpp"
#include "link/network_interface.hpp"

namespace softrnic::link {

class XdpProgram {
 public:
  static wire::Expected<std::unique_ptr<XdpProgram>, OpenError> load();
  ~XdpProgram();
  XdpProgram(const XdpProgram&) = delete;
  XdpProgram& operator=(const XdpProgram&) = delete;

  // Frames of receive queue `queue` go to this AF_XDP socket. False when there is no such place.
  bool set_socket(std::uint32_t queue, int socket);

  enum class Mode : std::uint8_t { native, generic };
  // In the driver where it can, before the network stack where not.
  wire::Expected<Mode, OpenError> attach(const NetworkInterface& interface);

  // Whose frames to take; replaces what was set before. Addresses beyond the map's room are left
  // to the kernel.
  void set_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips);

  struct Impl;

 private:
  explicit XdpProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::link
