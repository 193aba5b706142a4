// SPDX-License-Identifier: BSD-3-Clause
#include "wire/deth.hpp"

#include <algorithm>

namespace softrnic::wire {

Deth Deth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Deth h;
  h.queue_key = static_cast<std::uint32_t>(get(p, kQueueKey));
  h.reserved = static_cast<std::uint8_t>(get(p, kReserved));
  h.source_qpn = static_cast<std::uint32_t>(get(p, kSourceQpn));
  return h;
}

void Deth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kQueueKey, queue_key);
  put(p, kReserved, reserved);
  put(p, kSourceQpn, source_qpn);
}

}  // namespace softrnic::wire
