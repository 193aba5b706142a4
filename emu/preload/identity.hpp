// SPDX-License-Identifier: BSD-3-Clause
// Who the device is, for a process that has not opened it: from the variables of its environment,
// and from the segment that the NIC is on, if it is there already. Allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "preload/text.hpp"
#include "wire/ethernet.hpp"
#include "wire/gid.hpp"

namespace softrnic::preload {

// As std::getenv: null when there is no such variable.
using Variable = const char* (*)(const char* name);

struct Identity {
  static constexpr std::size_t kMostAddresses = 128;

  BoundedText<64> device;
  // The network interface under the link; empty when there is none, as for shm.
  BoundedText<16> interface;
  wire::MacAddress mac;
  // As the GID table has them: the link-local one first, each once.
  std::array<wire::Gid, kMostAddresses> addresses;
  std::size_t address_count = 0;

  void add(const wire::Gid& address);
};

// The device's name alone.
BoundedText<64> device_name(Variable variable);

// A variable with a value that makes no sense is passed over: the verbs library says what is wrong
// with it.
Identity identity_of(Variable variable);

}  // namespace softrnic::preload
