// SPDX-License-Identifier: BSD-3-Clause
#include "wire/atomic_eth.hpp"

#include <algorithm>

namespace softrnic::wire {

AtomicEth AtomicEth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  AtomicEth h;
  h.virtual_address = get(p, kVirtualAddress);
  h.remote_key = static_cast<std::uint32_t>(get(p, kRemoteKey));
  h.swap_add = get(p, kSwapAdd);
  h.compare = get(p, kCompare);
  return h;
}

void AtomicEth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kVirtualAddress, virtual_address);
  put(p, kRemoteKey, remote_key);
  put(p, kSwapAdd, swap_add);
  put(p, kCompare, compare);
}

}  // namespace softrnic::wire
