// SPDX-License-Identifier: BSD-3-Clause
#include "wire/arp.hpp"

namespace softrnic::wire {
namespace {

// The fixed start of an ARP message for IPv4 over Ethernet: hardware type 1, protocol type
// 0x0800, address lengths 6 and 4.
constexpr std::uint64_t kIpv4OverEthernet = 0x0001'0800'0604;

constexpr std::size_t kOperationOffset = 6;
constexpr std::size_t kSenderMacOffset = 8;
constexpr std::size_t kSenderIpOffset = 14;
constexpr std::size_t kTargetMacOffset = 18;
constexpr std::size_t kTargetIpOffset = 24;

constexpr Field kTypes{"types", 0, 48};

}  // namespace

std::optional<Arp> Arp::parse(ByteView bytes) {
  if (bytes.size() < kSize) return std::nullopt;
  const std::byte* p = bytes.data();
  if (get(p, kTypes) != kIpv4OverEthernet) return std::nullopt;
  Arp arp;
  arp.operation = load_be16(p + kOperationOffset);
  arp.sender_mac = load_mac(p + kSenderMacOffset);
  arp.sender_ip = load_be32(p + kSenderIpOffset);
  arp.target_mac = load_mac(p + kTargetMacOffset);
  arp.target_ip = load_be32(p + kTargetIpOffset);
  return arp;
}

void Arp::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  put(p, kTypes, kIpv4OverEthernet);
  store_be16(p + kOperationOffset, operation);
  store_mac(p + kSenderMacOffset, sender_mac);
  store_be32(p + kSenderIpOffset, sender_ip);
  store_mac(p + kTargetMacOffset, target_mac);
  store_be32(p + kTargetIpOffset, target_ip);
}

}  // namespace softrnic::wire
