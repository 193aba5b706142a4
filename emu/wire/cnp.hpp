// SPDX-License-Identifier: BSD-3-Clause
// Congestion notification packet: a BTH of opcode 0x81 with BECN set and 16 reserved bytes
// (IBTA annex A17, 17.9.3).
#pragma once

#include <array>

#include "wire/bth.hpp"

namespace softrnic::wire {

struct CnpReserved {
  static constexpr std::size_t kSize = 16;

  std::array<std::byte, kSize> bytes{};  // zero when sent; kept so that a frame round-trips

  static CnpReserved parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const CnpReserved&, const CnpReserved&) = default;
};

// The BTH of a CNP to the queue pair that sent the marked packet.
Bth cnp_bth(std::uint32_t destination_qpn, std::uint16_t partition_key = kDefaultPartitionKey);

}  // namespace softrnic::wire
