// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_host.hpp"

#include <algorithm>
#include <charconv>

#include "link/shm_stations.hpp"

namespace softrnic::link::shm {

namespace {

// Last octets of IPv4 addresses in a /24.
constexpr std::uint32_t kMostAddress = 254;
constexpr std::uint8_t kIpv4Prefix = 24;
constexpr std::uint8_t kIpv6Prefix = 64;

// FNV-1a, 64 bits: the same on every machine and in every version.
std::uint64_t hash(std::string_view text, std::uint64_t from = 0xcbf29ce484222325) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return from ^ from >> 32;
}

// The address a name asks for: that of a letter is its place in the alphabet, that of "node7" is 7.
std::uint32_t wished_address(std::string_view name) {
  if (name.size() == 1 && name[0] >= 'a' && name[0] <= 'z') {
    return static_cast<std::uint32_t>(name[0] - 'a' + 1);
  }
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
  if (error == std::errc() && number >= 1 && number <= kMostAddress) return number;
  return static_cast<std::uint32_t>(hash(name) % kMostAddress) + 1;
}

// Locally administered, not a group (IEEE 802, 8.2.2).
std::uint64_t wished_mac(std::string_view segment, std::string_view name, std::uint64_t attempt) {
  const std::uint64_t bits = hash(name, hash(segment) + attempt);
  return (bits & 0xfcffffffffff) | 0x020000000000;
}

}  // namespace

bool valid_host_name(std::string_view name) {
  return !name.empty() && name.size() < kHostName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

bool HostTable::exists(std::size_t host) const {
  return record(host).mac.load(std::memory_order_relaxed) != 0;
}

std::string HostTable::name(std::size_t host) const {
  const std::array<char, kHostName> copy = record(host).name;
  return {copy.begin(), std::find(copy.begin(), copy.end(), '\0')};
}

std::size_t HostTable::find(std::string_view wanted) const {
  for (std::size_t host = 0; host < kHosts; ++host) {
    if (exists(host) && name(host) == wanted) return host;
  }
  return kHosts;
}

bool HostTable::address_taken(std::uint32_t address) const {
  for (std::size_t host = 0; host < kHosts; ++host) {
    if (exists(host) && record(host).address.load(std::memory_order_relaxed) == address)
      return true;
  }
  return false;
}

std::size_t HostTable::join(std::string_view wanted) {
  std::string own(wanted);
  for (int n = 1; wanted.empty(); ++n) {
    own = "host" + std::to_string(n);
    if (find(own) == kHosts) break;
  }
  if (const std::size_t known = find(own); known != kHosts) return known;
  std::size_t host = 0;
  while (host < kHosts && exists(host)) ++host;
  if (host == kHosts) return kHosts;

  // There are fewer hosts than addresses.
  std::uint32_t address = wished_address(own);
  while (address_taken(address)) address = address % kMostAddress + 1;
  const StationTable stations(*header_);
  std::uint64_t mac = 0;
  for (std::uint64_t i = 0; mac == 0 || stations.find(mac); ++i) mac = wished_mac(segment_, own, i);

  HostRecord& made = record(host);
  made.name.fill('\0');
  std::copy(own.begin(), own.end(), made.name.begin());
  made.address.store(address, std::memory_order_relaxed);
  for (Word<std::uint32_t>& block : made.blocks) block.store(0, std::memory_order_relaxed);
  made.mac.store(mac, std::memory_order_release);
  StationTable(*header_).learn(mac, {.is_host = true, .index = host});
  return host;
}

void HostTable::remove(std::size_t host) {
  StationTable(*header_).forget({.is_host = true, .index = host});
  record(host).mac.store(0, std::memory_order_release);
}

Identity HostTable::identity(std::size_t host) const {
  Identity identity;
  identity.host = name(host);
  identity.mac = mac_of(record(host).mac.load(std::memory_order_relaxed));
  const std::uint32_t address = record(host).address.load(std::memory_order_relaxed) & 0xff;
  const std::uint64_t net = hash(segment_);
  const auto subnet = static_cast<std::uint32_t>(net & 0xffff);
  identity.addresses.push_back(
      {wire::Gid::from_ipv4(0x0a000000 | subnet << 8 | address), kIpv4Prefix});
  // fd00::/8 with the segment's own 40 bits, which RFC 4193 wants random (3.2.2).
  wire::Gid ipv6;
  ipv6.bytes[0] = 0xfd;
  for (std::size_t i = 1; i <= 5; ++i) {
    ipv6.bytes[i] = static_cast<std::uint8_t>(net >> (8 * i));
  }
  ipv6.bytes[15] = static_cast<std::uint8_t>(address);
  identity.addresses.push_back({ipv6, kIpv6Prefix});
  return identity;
}

std::optional<QueuePairNumbers> HostTable::take_numbers(std::size_t host, std::size_t port) {
  for (std::uint32_t i = 0; i < kNumberBlocks; ++i) {
    Word<std::uint32_t>& block = record(host).blocks[i];
    if (block.load(std::memory_order_relaxed) != 0) continue;
    block.store(static_cast<std::uint32_t>(port) + 1, std::memory_order_release);
    header_->version.fetch_add(1, std::memory_order_acq_rel);
    constexpr QueuePairNumbers kAll;
    const std::uint32_t first = i << kNumberBits;
    return QueuePairNumbers{std::max(first, kAll.first),
                            std::min(first + (1u << kNumberBits) - 1, kAll.last)};
  }
  return std::nullopt;
}

void HostTable::give_back_numbers(std::size_t host, std::size_t port) {
  for (Word<std::uint32_t>& block : record(host).blocks) {
    if (block.load(std::memory_order_relaxed) == port + 1)
      block.store(0, std::memory_order_release);
  }
}

}  // namespace softrnic::link::shm
