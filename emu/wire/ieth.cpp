// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ieth.hpp"

#include <algorithm>

namespace softrnic::wire {

Ieth Ieth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Ieth h;
  h.remote_key = static_cast<std::uint32_t>(get(p, kRemoteKey));
  return h;
}

void Ieth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kRemoteKey, remote_key);
}

}  // namespace softrnic::wire
