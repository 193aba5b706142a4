// SPDX-License-Identifier: BSD-3-Clause
// A mirror port: gets a copy of every frame of a segment, with when, from whom and to whom.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "link/link.hpp"
#include "link/shm_layout.hpp"

namespace softrnic::link::shm {

// What a sender writes in the headroom of a mirror's copy.
struct MirrorNote {
  wire::Instant at{};
  std::uint32_t from = 0;
  std::bitset<kPorts> to;

  MirrorNote() = default;
  MirrorNote(wire::Instant when, std::uint32_t sender, std::span<const std::uint8_t> ports);
  void write(std::byte* headroom) const;
  static MirrorNote read(const std::byte* headroom);
};

}  // namespace softrnic::link::shm
