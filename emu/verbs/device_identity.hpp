// SPDX-License-Identifier: BSD-3-Clause
// Who the device is to whoever asks before it has been opened: its MAC address and what is made of
// it. The same whenever it is asked, in every process of the same environment.
#pragma once

#include <cstdint>

#include "link/link.hpp"
#include "verbs/environment.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::verbs {

// What the environment says, else what the link knows, else an address made from the names of
// machine and link.
wire::MacAddress mac_of(const Environment& environment, const link::Capabilities& link);

// EUI-64 of the MAC address, in host order (RFC 4291, appendix A), as Linux gives it to a NIC.
std::uint64_t guid_of(const wire::MacAddress& mac);

}  // namespace softrnic::verbs
