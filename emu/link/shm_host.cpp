// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_host.hpp"

#include <algorithm>

#include "link/shm_names.hpp"
#include "link/shm_stations.hpp"

namespace softrnic::link::shm {

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
  identity.addresses.push_back({ipv4_of(segment_, address), kIpv4Prefix});
  identity.addresses.push_back({ipv6_of(segment_, address), kIpv6Prefix});
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
