// SPDX-License-Identifier: BSD-3-Clause
// Local route header of native InfiniBand, 8 bytes (IBTA vol. 1, 7.7), and the two checksums behind
// the packet that it begins (7.8). RoCE has none of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"

namespace softrnic::wire {

struct Lrh {
  static constexpr std::size_t kSize = 8;
  static constexpr std::size_t kVcrcSize = 2;

  // What stands behind it.
  enum class Next : std::uint8_t { raw, ipv6, bth, grh };

  std::uint8_t virtual_lane = 0;
  std::uint8_t link_version = 0;
  std::uint8_t service_level = 0;
  Next next = Next::bth;
  std::uint16_t destination = 0;  // LIDs
  std::uint16_t source = 0;
  std::uint16_t packet_length = 0;  // in words of 4 bytes, from here to the ICRC

  static Lrh parse(std::span<const std::byte, kSize> bytes);
  std::size_t size() const { return std::size_t{packet_length} * 4; }
};

// The ICRC of a packet without a GRH; `packet`: from the local route header up to the ICRC. With a
// GRH it is that of RoCE v1, where the local route header counts as ones.
std::uint32_t local_icrc(ByteView packet);

// The variant CRC; `packet`: from the local route header on, with the ICRC.
std::uint16_t vcrc(ByteView packet);
std::uint16_t load_vcrc(const std::byte* p);

}  // namespace softrnic::wire
