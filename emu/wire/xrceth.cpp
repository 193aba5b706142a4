// SPDX-License-Identifier: BSD-3-Clause
#include "wire/xrceth.hpp"

#include <algorithm>

namespace softrnic::wire {

Xrceth Xrceth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Xrceth h;
  h.reserved = static_cast<std::uint8_t>(get(p, kReserved));
  h.shared_receive_queue = static_cast<std::uint32_t>(get(p, kSharedReceiveQueue));
  return h;
}

void Xrceth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kReserved, reserved);
  put(p, kSharedReceiveQueue, shared_receive_queue);
}

}  // namespace softrnic::wire
