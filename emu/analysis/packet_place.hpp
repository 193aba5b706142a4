// SPDX-License-Identifier: BSD-3-Clause
// Where in a packet a bit stands, in words.
#pragma once

#include <string>

#include "wire/packet_view.hpp"

namespace softrnic::analysis {

// "bit 4 of payload byte 119", "bit 2 of psn in the BTH". `bytes` begin with the network header;
// bits count from the first byte's most significant one, in the name from a byte's or field's most
// significant one on. `bit` lies within `bytes`, which hold a whole BTH at `bth_offset`.
std::string name_of_place(wire::NetworkLayer layer, wire::ByteView bytes, std::size_t bth_offset,
                          std::size_t bit);

}  // namespace softrnic::analysis
