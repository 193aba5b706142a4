// SPDX-License-Identifier: BSD-3-Clause
#include "wire/immdt.hpp"

#include <algorithm>

namespace softrnic::wire {

ImmDt ImmDt::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  ImmDt h;
  h.data = static_cast<std::uint32_t>(get(p, kData));
  return h;
}

void ImmDt::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kData, data);
}

}  // namespace softrnic::wire
