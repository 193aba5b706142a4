// SPDX-License-Identifier: BSD-3-Clause
#include "edit/address_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabric/fault_terms.hpp"

namespace softrnic::edit {
namespace {

using wire::Gid;
using wire::MacAddress;
using wire::Unexpected;

constexpr unsigned kGidBits = 128;
constexpr unsigned kMappedBits = 96;  // in front of an IPv4 address

std::optional<Side> take_side(std::string_view& text) {
  for (const auto& [word, side] :
       {std::pair{std::string_view("source:"), Side::source},
        std::pair{std::string_view("destination:"), Side::destination}}) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    return side;
  }
  return std::nullopt;
}

bool bit(const Gid& gid, unsigned index) {
  return (gid.bytes[index / 8] >> (7 - index % 8) & 1) != 0;
}

void set_bit(Gid& gid, unsigned index, bool value) {
  const auto mask = static_cast<std::uint8_t>(0x80 >> index % 8);
  gid.bytes[index / 8] =
      static_cast<std::uint8_t>(value ? gid.bytes[index / 8] | mask : gid.bytes[index / 8] & ~mask);
}

// "10.0.0.0/8", "fd00::1".
bool read_prefix(std::string_view text, Gid& address, unsigned& bits) {
  const std::size_t slash = text.find('/');
  const auto gid = Gid::from_string(text.substr(0, slash));
  if (!gid) return false;
  address = *gid;
  const bool v4 = text.find(':') == std::string_view::npos;
  const unsigned before = v4 ? kMappedBits : 0;
  bits = kGidBits;
  if (slash != std::string_view::npos) {
    const auto length = fabric::read_number(text.substr(slash + 1));
    if (!length || *length > kGidBits - before) return false;
    bits = before + static_cast<unsigned>(*length);
  }
  for (unsigned i = bits; i < kGidBits; ++i) set_bit(address, i, false);
  return true;
}

std::string bad_address(std::string_view text) {
  return fmt::format("\"{}\" is no IP address or prefix, such as 10.0.0.1, 10.0.0.0/8 or fd00::/64",
                     text);
}

// Six bytes, or the first three.
bool read_mac(std::string_view text, MacAddress& mac, unsigned& bytes) {
  constexpr std::size_t kVendor = 8;
  bytes = text.size() == kVendor ? 3 : 6;
  const std::string whole = bytes == 3 ? fmt::format("{}:00:00:00", text) : std::string(text);
  const auto address = MacAddress::from_string(whole);
  if (address) mac = *address;
  return address.has_value();
}

}  // namespace

wire::Expected<IpRule, std::string> IpRule::read(std::string_view text) {
  IpRule rule;
  const std::string_view whole = text;
  rule.side = take_side(text);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return Unexpected{fmt::format("\"{}\" says not what becomes of what: use FROM=TO", whole)};
  }
  const std::string_view from = text.substr(0, equals);
  const std::string_view to = text.substr(equals + 1);
  if (!read_prefix(from, rule.from, rule.from_bits)) return Unexpected{bad_address(from)};
  if (!read_prefix(to, rule.to, rule.to_bits)) return Unexpected{bad_address(to)};
  const bool from_v4 = from.find(':') == std::string_view::npos;
  const bool to_v4 = to.find(':') == std::string_view::npos;
  // An IPv6 prefix may have but few addresses in use; any other has to fit.
  if (rule.from_bits < rule.to_bits && (from_v4 || !to_v4)) {
    return Unexpected{fmt::format("\"{}\": {} has more addresses than {}", whole, from, to)};
  }
  return rule;
}

std::optional<Gid> IpRule::apply(const Gid& address) const {
  for (unsigned i = 0; i < from_bits; ++i) {
    if (bit(address, i) != bit(from, i)) return std::nullopt;
  }
  // What the address has behind the prefix is carried over from its end.
  for (unsigned i = from_bits; i < to_bits; ++i) {
    if (bit(address, i)) return std::nullopt;
  }
  Gid result = to;
  for (unsigned i = std::max(from_bits, to_bits); i < kGidBits; ++i) {
    set_bit(result, i, bit(address, i));
  }
  return result;
}

wire::Expected<MacRule, std::string> MacRule::read(std::string_view text) {
  MacRule rule;
  const std::string_view whole = text;
  rule.side = take_side(text);
  const std::size_t equals = text.find('=');
  unsigned to_bytes = 0;
  const bool good = equals != std::string_view::npos &&
                    read_mac(text.substr(0, equals), rule.from, rule.bytes) &&
                    read_mac(text.substr(equals + 1), rule.to, to_bytes) && to_bytes == rule.bytes;
  if (good) return rule;
  return Unexpected{
      fmt::format("\"{}\" is not FROM=TO of two MAC addresses, such as "
                  "52:54:00:00:00:01=02:00:00:00:00:01, or of their first halves, "
                  "52:54:00=02:00:5e",
                  whole)};
}

std::optional<MacAddress> MacRule::apply(const MacAddress& address) const {
  if (!std::equal(from.bytes.begin(), from.bytes.begin() + bytes, address.bytes.begin())) {
    return std::nullopt;
  }
  MacAddress result = address;
  std::copy(to.bytes.begin(), to.bytes.begin() + bytes, result.bytes.begin());
  return result;
}

}  // namespace softrnic::edit
