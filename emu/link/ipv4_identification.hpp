// SPDX-License-Identifier: BSD-3-Clause
// The IPv4 identification of a received RoCE packet whose header is not known, found by its ICRC.
//
// The frame is given with identification zero and "don't fragment". Its ICRC is that of another
// header: exactly one identification, or none, makes up for the difference (wire/icrc_change.hpp).
// Found so, a packet is not checked by all 32 bits of its ICRC but by the 16 that are left.
#pragma once

#include <cstdint>
#include <optional>

#include "link/frame.hpp"

namespace softrnic::link {

// What the frame's ICRC differs by from what it should be with its header as it is; zero when it
// is right. `network`: where the IPv4 header is; the packet ends with the frame.
std::uint32_t icrc_difference(const Frame& frame, std::size_t network);

// Whether that identification in the place of zero explains the difference.
bool explains(std::uint16_t identification, std::uint32_t difference, const Frame& frame,
              std::size_t network);

// Puts the identification into the header, with its checksum.
void set_identification(std::uint16_t identification, Frame& frame, std::size_t network);

// The identification that explains the difference, if one does.
std::optional<std::uint16_t> identification_behind(std::uint32_t difference, const Frame& frame,
                                                   std::size_t network);

// Puts the identification, and if need be flags without "don't fragment", into the header that
// explain the difference; false when none does.
bool infer_identification(std::uint32_t difference, Frame& frame, std::size_t network);

}  // namespace softrnic::link
