// SPDX-License-Identifier: BSD-3-Clause
// A header field, called by its name, with a value to have: a number, a step up or down from what
// is there, or an address.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softrnic::fabric {

struct FieldValue {
  enum class Kind : std::uint8_t { number, plus, minus, ipv4, ipv6 };

  std::string name;  // as find_header_field() takes it
  Kind kind = Kind::number;
  std::uint64_t number = 0;                // the number or step; an IPv4 address in host order
  std::array<std::uint8_t, 16> address{};  // IPv6

  // "5", "0x1f", "+1", "-1", "10.0.0.1", "fd00::1" for a field of that name; or a sentence saying
  // why it cannot be.
  static std::optional<std::string> read(std::string_view name, std::string_view value,
                                         FieldValue& out);
  std::string value_text() const;

  friend bool operator==(const FieldValue&, const FieldValue&) = default;
};

}  // namespace softrnic::fabric
