// SPDX-License-Identifier: BSD-3-Clause
// RDMA extended transport header, 16 bytes (IBTA vol. 1, 9.3.3).
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

struct Reth {
  static constexpr std::size_t kSize = 16;

  std::uint64_t virtual_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t dma_length = 0;  // bytes of the whole message

  static Reth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Reth&, const Reth&) = default;

  static constexpr Field kVirtualAddress{"virtual_address", 0, 64};
  static constexpr Field kRemoteKey{"remote_key", 64, 32};
  static constexpr Field kDmaLength{"dma_length", 96, 32};
  static constexpr std::array kFields{kVirtualAddress, kRemoteKey, kDmaLength};
};

}  // namespace softrnic::wire
