// SPDX-License-Identifier: BSD-3-Clause
// How an ICRC changes with two bytes of what it covers, and back: which two bytes explain a change.
//
// A CRC is affine: the CRCs of two messages of one length differ by a linear map of where the
// messages differ. So the ICRC of a packet whose IPv4 identification or UDP port becomes another
// need not be computed anew, and an identification that is not known can be solved for: the map is
// a multiplication by a power of x modulo the generator, which has an inverse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace softrnic::wire {

// What an ICRC changes by (exclusive or) when the big-endian 16 bits before the last `behind`
// covered bytes change by `difference` (exclusive or). Up to 65535 bytes.
std::uint32_t icrc_change(std::uint16_t difference, std::size_t behind);

// The difference that explains a change; none when no change of those 16 bits alone does, which is
// so for all but one in 65536 changes.
std::optional<std::uint16_t> difference_behind(std::uint32_t change, std::size_t behind);

}  // namespace softrnic::wire
