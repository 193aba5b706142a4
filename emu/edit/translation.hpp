// SPDX-License-Identifier: BSD-3-Clause
// What becomes of each kind of value in a frame; who walks through the frame need not know why.
//
// A queue pair number or a key belongs to a host, `owner`: the one at whose address it stands, as
// the frame names it before the edit.
#pragma once

#include <cstdint>

#include "wire/ethernet.hpp"
#include "wire/gid.hpp"

namespace softrnic::edit {

enum class Side : std::uint8_t { source, destination };

enum class Quantity : std::uint8_t {
  qpn,                   // 24 bits
  shared_receive_queue,  // 24 bits (XRC)
  remote_key,            // 32 bits
  partition_key,         // 16 bits
  queue_key,             // 32 bits
  udp_port,              // 16 bits: RoCE's source port
  dscp,                  // 6 bits
  ecn,                   // 2 bits
  time_to_live,          // 8 bits; hop limit
  flow_label,            // 20 bits
  immediate,             // 32 bits
  ca_guid,               // 64 bits
  count,
};

class Translation {
 public:
  virtual ~Translation() = default;

  virtual wire::MacAddress mac(const wire::MacAddress& address, Side side) const = 0;
  virtual wire::Gid address(const wire::Gid& address, Side side) const = 0;
  virtual std::uint64_t number(Quantity quantity, std::uint64_t value,
                               const wire::Gid& owner) const = 0;
  virtual std::uint64_t virtual_address(std::uint64_t address, std::uint32_t remote_key,
                                        const wire::Gid& owner) const = 0;
  // Whether an IPv4 identification is to be kept where a packet becomes IPv6.
  virtual bool keeps_identification() const { return false; }
};

}  // namespace softrnic::edit
