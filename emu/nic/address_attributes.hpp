// SPDX-License-Identifier: BSD-3-Clause
// Where packets of a queue pair or address handle go, as ibv_ah_attr says it.
#pragma once

#include <cstdint>

#include "wire/gid.hpp"

namespace softrnic::nic {

struct AddressAttributes {
  std::uint32_t gid_index = 0;  // which of our GIDs, and with it the RoCE version
  wire::Gid destination;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;    // 0: drawn from the QP numbers
  std::uint8_t service_level = 0;  // VLAN priority, when the NIC has a VLAN
};

}  // namespace softrnic::nic
