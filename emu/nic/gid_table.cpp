// SPDX-License-Identifier: BSD-3-Clause
#include "nic/gid_table.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace softrnic::nic {
namespace {

constexpr std::uint8_t kIpv4Bits = 32;
constexpr std::uint8_t kGidBits = 128;
constexpr std::uint8_t kLinkLocalPrefix = 64;

std::uint8_t address_bits(const wire::Gid& gid) {
  return gid.is_ipv4_mapped() ? kIpv4Bits : kGidBits;
}

bool assignable(const wire::Gid& gid) {
  return !gid.is_zero() && !gid.is_multicast() && !(gid.is_ipv4_mapped() && gid.ipv4() == 0);
}

int common_prefix(const wire::Gid& a, const wire::Gid& b) {
  int bits = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    const auto difference = static_cast<std::uint8_t>(a.bytes[i] ^ b.bytes[i]);
    bits += std::countl_zero(difference);
    if (difference != 0) break;
  }
  return bits;
}

}  // namespace

std::optional<InterfaceAddress> InterfaceAddress::from_string(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = wire::Gid::from_string(text.substr(0, slash));
  if (!address || !assignable(*address)) return std::nullopt;
  InterfaceAddress result{*address, address_bits(*address)};
  if (slash == std::string_view::npos) return result;

  const std::string_view digits = text.substr(slash + 1);
  unsigned length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!whole || length > address_bits(*address)) return std::nullopt;
  result.prefix_length = static_cast<std::uint8_t>(length);
  return result;
}

std::string InterfaceAddress::to_string() const {
  return address.to_string() + '/' + std::to_string(prefix_length);
}

GidTable::GidTable(const wire::MacAddress& mac, std::span<const InterfaceAddress> addresses) {
  add({wire::Gid::link_local(mac), kLinkLocalPrefix});
  for (const InterfaceAddress& address : addresses) add(address);
}

GidTable::GidTable(std::span<const InterfaceAddress> addresses) : v2_only_(true) {
  for (const InterfaceAddress& address : addresses) add(address);
}

void GidTable::add(const InterfaceAddress& address) {
  if (!assignable(address.address) || owns(address.address)) return;
  const std::uint8_t bits = address_bits(address.address);
  const std::uint8_t length = std::min(address.prefix_length, bits);
  addresses_.push_back(address.address);
  prefix_lengths_.push_back(static_cast<std::uint8_t>(kGidBits - bits + length));
  if (!v2_only_) entries_.push_back({address.address, wire::RoceVersion::v1});
  entries_.push_back({address.address, wire::RoceVersion::v2});
}

const GidEntry* GidTable::find(std::uint32_t index) const {
  return index < entries_.size() ? &entries_[index] : nullptr;
}

bool GidTable::owns(const wire::Gid& gid) const {
  return std::find(addresses_.begin(), addresses_.end(), gid) != addresses_.end();
}

std::optional<wire::Gid> GidTable::source_for(const wire::Gid& destination) const {
  std::optional<wire::Gid> best;
  int best_rank = -1;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const wire::Gid& candidate = addresses_[i];
    if (candidate.is_ipv4_mapped() != destination.is_ipv4_mapped()) continue;
    if (candidate == destination) return candidate;
    const int common = common_prefix(candidate, destination);
    const bool on_prefix = common >= prefix_lengths_[i];
    const bool same_scope = candidate.is_link_local() == destination.is_link_local();
    const int rank = (on_prefix ? 512 : 0) + (same_scope ? 256 : 0) + common;
    if (rank > best_rank) {
      best_rank = rank;
      best = candidate;
    }
  }
  return best;
}

}  // namespace softrnic::nic
