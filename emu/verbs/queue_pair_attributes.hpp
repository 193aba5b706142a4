// SPDX-License-Identifier: BSD-3-Clause
// ibv_qp_attr as the transport takes it, and back.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "nic/nic.hpp"

namespace softrnic::verbs {

// A change as a program asks for it.
struct QueuePairChange {
  transport::QueuePairState to{};
  transport::QueuePairAttributes attributes;
  transport::AttributeMask named = 0;
  std::optional<nic::AddressAttributes> address;
};

// `mask` without what belongs to the other end alone: programs name the same attributes for both
// ends of an XRC connection, and the kernel's verbs pass over the half that is not the queue
// pair's.
int own_attributes(ibv_qp_type type, int mask);

// None for what no RoCE device takes. `from` is the state it is in, for changes that name none.
std::optional<QueuePairChange> change_of(const ibv_qp_attr& attributes, int mask,
                                         transport::QueuePairState from);

ibv_qp_attr attributes_of(const nic::QueuePairStatus& status);

// 256 to 4096 bytes; none for a number that is no path MTU.
std::optional<std::uint32_t> bytes_of(ibv_mtu mtu);
ibv_mtu mtu_of(std::uint32_t bytes);

}  // namespace softrnic::verbs
