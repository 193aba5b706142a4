// SPDX-License-Identifier: BSD-3-Clause
#include "wire/reth.hpp"

#include <algorithm>

namespace softrnic::wire {

Reth Reth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Reth h;
  h.virtual_address = get(p, kVirtualAddress);
  h.remote_key = static_cast<std::uint32_t>(get(p, kRemoteKey));
  h.dma_length = static_cast<std::uint32_t>(get(p, kDmaLength));
  return h;
}

void Reth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kVirtualAddress, virtual_address);
  put(p, kRemoteKey, remote_key);
  put(p, kDmaLength, dma_length);
}

}  // namespace softrnic::wire
