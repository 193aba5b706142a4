// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ip_cm.hpp"

#include <algorithm>
#include <cstring>

namespace softrnic::wire {
namespace {

constexpr std::uint64_t kIpPrefix = 0x0000000001;  // the upper 40 bits
constexpr std::size_t kIpv4Offset = 12;            // of an IPv4 address within its 16 bytes

Gid address(const std::array<std::uint8_t, 16>& bytes, std::uint8_t ip_version) {
  Gid gid{bytes};
  if (ip_version == 4) gid.bytes[10] = gid.bytes[11] = 0xff;
  return gid;
}

std::array<std::uint8_t, 16> carried(const Gid& gid) {
  if (!gid.is_ipv4_mapped()) return gid.bytes;
  std::array<std::uint8_t, 16> bytes{};
  std::copy(gid.bytes.begin() + kIpv4Offset, gid.bytes.end(), bytes.begin() + kIpv4Offset);
  return bytes;
}

}  // namespace

std::optional<IpServiceId> IpServiceId::from(std::uint64_t service_id) {
  if (service_id >> 24 != kIpPrefix) return std::nullopt;
  return IpServiceId{static_cast<std::uint8_t>(service_id >> 16),
                     static_cast<std::uint16_t>(service_id)};
}

std::uint64_t IpServiceId::value() const {
  return kIpPrefix << 24 | std::uint64_t{protocol} << 16 | port;
}

Gid IpCmHeader::source_address() const {
  return address(source, ip_version);
}

Gid IpCmHeader::destination_address() const {
  return address(destination, ip_version);
}

void IpCmHeader::set_addresses(const Gid& from, const Gid& to) {
  ip_version = from.is_ipv4_mapped() ? 4 : 6;
  source = carried(from);
  destination = carried(to);
}

IpCmHeader IpCmHeader::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  IpCmHeader h;
  h.major_version = static_cast<std::uint8_t>(get(p, kMajorVersion));
  h.minor_version = static_cast<std::uint8_t>(get(p, kMinorVersion));
  h.ip_version = static_cast<std::uint8_t>(get(p, kIpVersion));
  h.reserved = static_cast<std::uint8_t>(get(p, kReserved));
  h.source_port = static_cast<std::uint16_t>(get(p, kSourcePort));
  std::memcpy(h.source.data(), p + kSourceOffset, h.source.size());
  std::memcpy(h.destination.data(), p + kDestinationOffset, h.destination.size());
  return h;
}

void IpCmHeader::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSourceOffset, std::byte{});
  put(p, kMajorVersion, major_version);
  put(p, kMinorVersion, minor_version);
  put(p, kIpVersion, ip_version);
  put(p, kReserved, reserved);
  put(p, kSourcePort, source_port);
  std::memcpy(p + kSourceOffset, source.data(), source.size());
  std::memcpy(p + kDestinationOffset, destination.data(), destination.size());
}

}  // namespace softrnic::wire
