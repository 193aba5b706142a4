// SPDX-License-Identifier: BSD-3-Clause
#include "wire/atomic_ack_eth.hpp"

#include <algorithm>

namespace softrnic::wire {

AtomicAckEth AtomicAckEth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  AtomicAckEth h;
  h.original = get(p, kOriginal);
  return h;
}

void AtomicAckEth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kOriginal, original);
}

}  // namespace softrnic::wire
