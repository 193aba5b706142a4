// SPDX-License-Identifier: BSD-3-Clause
// Rebuilds a frame from what a PacketView read in it.
#pragma once

#include "wire/packet_view.hpp"

namespace softrnic::wire {

// Writes the frame anew, each header from its parsed value, then payload and pad as carried, then
// an ICRC made afresh; so a frame with a right ICRC comes out byte for byte. An Ethernet trailer
// is not part of it. Writes view.size() bytes and returns that, or 0, writing nothing, when
// `out` is smaller. `out` must not overlap the frame.
std::size_t serialize(const PacketView& view, ByteSpan out);

}  // namespace softrnic::wire
