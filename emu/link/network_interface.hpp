// SPDX-License-Identifier: BSD-3-Clause
// A network interface of the host: what the kernel says of it, and the few settings a link makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/ethernet.hpp"
#include "wire/expected.hpp"

namespace softrnic::link {

struct NetworkInterface {
  std::string name;
  int index = 0;
  std::uint32_t mtu = 0;
  bool up = false;
  bool running = false;  // up, and joined to something that is
  bool ethernet = false;
  wire::MacAddress mac;

  // What the interface is like now, or an errno (ENODEV: there is none of that name).
  static wire::Expected<NetworkInterface, int> find(std::string_view name);
  // Whether there is still one of that index, which the kernel gives to no other soon.
  static bool exists(int index);
  // Whether the kernel would accept this as an interface's name.
  static bool valid_name(std::string_view name);

  // Settings; 0, or an errno.
  int set_mtu(std::uint32_t value);
  int set_up(bool value);
};

// The text of an errno, without the thread-unsafe strerror().
std::string error_text(int error);

// Why an interface that a link was to share cannot be used, as one sentence; empty when it can.
std::string why_unusable(const wire::Expected<NetworkInterface, int>& interface,
                         std::string_view name);

}  // namespace softrnic::link
