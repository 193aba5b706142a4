// SPDX-License-Identifier: BSD-3-Clause
// Why an ICRC is wrong: the likeliest cause, where one explains the carried value exactly.
//
// A CRC is linear: the difference of two sums of equally long inputs is the sum of the inputs'
// difference. So a flipped bit, or a field that was rewritten, can be told from the difference
// alone.
#pragma once

#include <cstdint>
#include <string>

#include "wire/packet_view.hpp"

namespace softrnic::analysis {

// One sentence without a full stop, empty when nothing fits. `summed`: from the network header
// (GRH, IPv4 or IPv6) to the last byte before the ICRC; `bth_offset`: where in it the BTH stands.
// Reads no byte outside of `summed`.
std::string icrc_hint(wire::NetworkLayer layer, wire::ByteView summed, std::size_t bth_offset,
                      std::uint32_t carried);

}  // namespace softrnic::analysis
