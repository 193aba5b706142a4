// SPDX-License-Identifier: BSD-3-Clause
#include "wire/feth.hpp"

#include <algorithm>

namespace softrnic::wire {

Feth Feth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Feth h;
  h.reserved = static_cast<std::uint32_t>(get(p, kReserved));
  h.selectivity = static_cast<std::uint8_t>(get(p, kSelectivity));
  h.placement_type = static_cast<std::uint8_t>(get(p, kPlacementType));
  return h;
}

void Feth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kReserved, reserved);
  put(p, kSelectivity, selectivity);
  put(p, kPlacementType, placement_type);
}

}  // namespace softrnic::wire
