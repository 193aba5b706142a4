// SPDX-License-Identifier: BSD-3-Clause
// A slot: kSlotSize bytes in which one message lies in pieces, with guard bytes all round.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "soak/operation_stream.hpp"
#include "transport/memory_gate.hpp"

namespace softrnic::soak {

// WRITEs the receiver may not have looked at yet: those before each of its posted receives, and
// what the sender may have posted beyond.
inline constexpr std::uint32_t kWriteTargets = 64;

inline constexpr std::byte kGuard{0xa5};

inline void guard(std::span<std::byte> room) {
  std::fill(room.begin(), room.end(), kGuard);
}

void scatter(const Layout& layout, std::span<const std::byte> from, std::span<std::byte> room);

// The scatter/gather list of the layout; `out` is where it lies.
std::span<const transport::Sge> elements(const Layout& layout, std::span<std::byte> room,
                                         std::uint32_t key,
                                         std::array<transport::Sge, kMaxPieces>& out);

// What is not as it should be: `expected` in the pieces, guards everywhere else. Empty when all is.
std::string difference(const Layout& layout, std::span<const std::byte> expected,
                       std::span<const std::byte> room);

}  // namespace softrnic::soak
