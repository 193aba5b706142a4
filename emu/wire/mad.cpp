// SPDX-License-Identifier: BSD-3-Clause
#include "wire/mad.hpp"

#include <algorithm>

namespace softrnic::wire {

MadHeader MadHeader::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  MadHeader h;
  h.base_version = static_cast<std::uint8_t>(get(p, kBaseVersion));
  h.management_class = static_cast<std::uint8_t>(get(p, kManagementClass));
  h.class_version = static_cast<std::uint8_t>(get(p, kClassVersion));
  h.method = static_cast<std::uint8_t>(get(p, kMethod));
  h.status = static_cast<std::uint16_t>(get(p, kStatus));
  h.class_specific = static_cast<std::uint16_t>(get(p, kClassSpecific));
  h.transaction_id = get(p, kTransactionId);
  h.attribute_id = static_cast<std::uint16_t>(get(p, kAttributeId));
  h.reserved = static_cast<std::uint16_t>(get(p, kReserved));
  h.attribute_modifier = static_cast<std::uint32_t>(get(p, kAttributeModifier));
  return h;
}

void MadHeader::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kBaseVersion, base_version);
  put(p, kManagementClass, management_class);
  put(p, kClassVersion, class_version);
  put(p, kMethod, method);
  put(p, kStatus, status);
  put(p, kClassSpecific, class_specific);
  put(p, kTransactionId, transaction_id);
  put(p, kAttributeId, attribute_id);
  put(p, kReserved, reserved);
  put(p, kAttributeModifier, attribute_modifier);
}

}  // namespace softrnic::wire
