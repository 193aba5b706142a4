// SPDX-License-Identifier: BSD-3-Clause
// Global route header, 40 bytes (IBTA vol. 1, 8.3): laid out as an IPv6 header.
#pragma once

#include "wire/ipv6.hpp"

namespace softrnic::wire {

using Grh = Ipv6Header;

}  // namespace softrnic::wire
