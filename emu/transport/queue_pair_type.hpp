// SPDX-License-Identifier: BSD-3-Clause
// What a queue pair is made as. Each service is one type, but for XRC, whose two ends differ: an
// initiator has a send queue alone, a target none, and receives through the shared receive queues
// of its domain (IBTA vol. 1, 10.2.4; annex A14).
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/opcode.hpp"

namespace softrnic::transport {

// Numbered as ibv_qp_type.
enum class QueuePairType : std::uint8_t {
  rc = 2,
  uc = 3,
  ud = 4,
  xrc_initiator = 9,
  xrc_target = 10,
};

std::string_view to_string(QueuePairType type);  // "RC", "UC", "UD", "XRC initiator", ...

constexpr wire::Service service_of(QueuePairType type) {
  switch (type) {
    case QueuePairType::rc:
      return wire::Service::reliable_connection;
    case QueuePairType::uc:
      return wire::Service::unreliable_connection;
    case QueuePairType::ud:
      return wire::Service::unreliable_datagram;
    case QueuePairType::xrc_initiator:
    case QueuePairType::xrc_target:
      return wire::Service::extended_reliable_connection;
  }
  return wire::Service::unknown;
}

// The type that sends requests of a service.
constexpr QueuePairType type_of(wire::Service service) {
  switch (service) {
    case wire::Service::unreliable_connection:
      return QueuePairType::uc;
    case wire::Service::unreliable_datagram:
      return QueuePairType::ud;
    case wire::Service::extended_reliable_connection:
      return QueuePairType::xrc_initiator;
    default:
      return QueuePairType::rc;
  }
}

}  // namespace softrnic::transport
