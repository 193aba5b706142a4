// SPDX-License-Identifier: BSD-3-Clause
// The one device of a process, as ibv_get_device_list() shows it: there whether or not it has been
// opened, and always the same object.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <optional>

#include "verbs/environment.hpp"

namespace softrnic::verbs {

struct Device : ibv_device {
  // Null when the environment is unsound, which standard error is told once.
  static Device* get();
  static Device& of(ibv_device* device) { return *static_cast<Device*>(device); }

  // Vendors' libraries look behind the structure for their own mark.
  std::array<std::byte, 128> not_of_a_vendor{};
  Environment environment;
};

// One line on standard error.
void complain(const std::string& line);

}  // namespace softrnic::verbs
