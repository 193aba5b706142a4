// SPDX-License-Identifier: BSD-3-Clause
// Common management datagram header, 24 bytes (IBTA vol. 1, 13.4.2).
//
// A management datagram is the payload of a UD SEND, always 256 bytes: this header and what its
// class makes of the rest.
#pragma once

#include <array>

#include "wire/field.hpp"

namespace softrnic::wire {

inline constexpr std::size_t kMadSize = 256;

namespace management_class {
inline constexpr std::uint8_t kCommunication = 0x07;  // IBTA vol. 1, 12.6
}  // namespace management_class

namespace mad_method {
inline constexpr std::uint8_t kGet = 0x01;
inline constexpr std::uint8_t kSend = 0x03;
inline constexpr std::uint8_t kGetResponse = 0x81;
}  // namespace mad_method

// Management datagrams of the general services go from and to QP 1 with this Q_Key
// (IBTA vol. 1, 13.5.3 and 10.2.5).
inline constexpr std::uint32_t kGeneralServiceQpn = 1;
inline constexpr std::uint32_t kGeneralServiceQueueKey = 0x80010000;

struct MadHeader {
  static constexpr std::size_t kSize = 24;
  static constexpr std::uint8_t kBaseVersion1 = 1;

  std::uint8_t base_version = kBaseVersion1;
  std::uint8_t management_class = management_class::kCommunication;
  std::uint8_t class_version = 2;
  std::uint8_t method = mad_method::kSend;
  std::uint16_t status = 0;
  std::uint16_t class_specific = 0;
  std::uint64_t transaction_id = 0;
  std::uint16_t attribute_id = 0;
  std::uint16_t reserved = 0;
  std::uint32_t attribute_modifier = 0;

  static MadHeader parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const MadHeader&, const MadHeader&) = default;

  static constexpr Field kBaseVersion{"base_version", 0, 8};
  static constexpr Field kManagementClass{"management_class", 8, 8};
  static constexpr Field kClassVersion{"class_version", 16, 8};
  static constexpr Field kMethod{"method", 24, 8};
  static constexpr Field kStatus{"status", 32, 16};
  static constexpr Field kClassSpecific{"class_specific", 48, 16};
  static constexpr Field kTransactionId{"transaction_id", 64, 64};
  static constexpr Field kAttributeId{"attribute_id", 128, 16};
  static constexpr Field kReserved{"reserved", 144, 16};
  static constexpr Field kAttributeModifier{"attribute_modifier", 160, 32};
  static constexpr std::array kFields{kBaseVersion, kManagementClass,  kClassVersion,  kMethod,
                                      kStatus,      kClassSpecific,    kTransactionId, kAttributeId,
                                      kReserved,    kAttributeModifier};
};

}  // namespace softrnic::wire
