// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/field_value.hpp"

#include <fmt/format.h>

#include "fabric/fault_terms.hpp"
#include "fabric/header_field.hpp"
#include "wire/gid.hpp"

namespace softrnic::fabric {

namespace {

std::uint64_t largest(std::size_t width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

// An address takes a field of exactly its size.
bool read_address(std::string_view value, FieldValue& out) {
  const auto gid = wire::Gid::from_string(value);
  if (!gid) return false;
  if (value.find(':') == std::string_view::npos) {
    out.kind = FieldValue::Kind::ipv4;
    out.number = gid->ipv4();
  } else {
    out.kind = FieldValue::Kind::ipv6;
    out.address = gid->bytes;
  }
  return true;
}

bool has_address(std::string_view name) {
  return name.ends_with("source") || name.ends_with("destination");
}

}  // namespace

std::optional<std::string> FieldValue::read(std::string_view name, std::string_view value,
                                            FieldValue& out) {
  out = {};
  out.name = to_lower(name);
  const std::size_t width = header_field_width(out.name);
  if (width == 0) {
    return fmt::format(
        "\"{}\" is no header field: use one such as psn, remote_key, aeth.syndrome or "
        "ipv4.time_to_live",
        name);
  }
  if (has_address(out.name) && read_address(value, out)) return std::nullopt;
  std::string_view digits = value;
  if (digits.starts_with('+') || digits.starts_with('-')) {
    out.kind = digits[0] == '+' ? Kind::plus : Kind::minus;
    digits.remove_prefix(1);
  }
  const auto number = read_number(digits);
  if (!number || *number > largest(width)) {
    return fmt::format(
        "{} takes a number from 0 to {:#x}, or a step such as +1 or -1{}, not \"{}\"", out.name,
        largest(width), has_address(out.name) ? ", or an address" : "", value);
  }
  out.number = *number;
  return std::nullopt;
}

std::string FieldValue::value_text() const {
  switch (kind) {
    case Kind::number:
      return fmt::format("{:#x}", number);
    case Kind::plus:
      return fmt::format("+{}", number);
    case Kind::minus:
      return fmt::format("-{}", number);
    case Kind::ipv4:
      return wire::Gid::from_ipv4(static_cast<std::uint32_t>(number)).to_string();
    case Kind::ipv6:
      // A mapped address in its IPv6 form, so that it stays one.
      if (const wire::Gid gid{address}; !gid.is_ipv4_mapped()) return gid.to_string();
      return fmt::format("::ffff:{:x}:{:x}", address[12] << 8 | address[13],
                         address[14] << 8 | address[15]);
  }
  return {};
}

}  // namespace softrnic::fabric
