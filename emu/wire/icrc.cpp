// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/bth.hpp"
#include "wire/crc32.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"
#include "wire/packet_view.hpp"
#include "wire/udp.hpp"

namespace softrnic::wire {
namespace {

constexpr std::size_t kLrhSize = 8;  // local route header, which Ethernet frames do not have
constexpr std::size_t kMaxHeaders = 128;

void set_to_ones(std::byte* header, const Field& field) {
  put(header, field, ~std::uint64_t{0});
}

void mask_ipv4(std::byte* p) {
  set_to_ones(p, Ipv4Header::kTrafficClass);
  set_to_ones(p, Ipv4Header::kTimeToLive);
  set_to_ones(p, Ipv4Header::kChecksum);
}

void mask_ipv6(std::byte* p) {
  set_to_ones(p, Ipv6Header::kTrafficClass);
  set_to_ones(p, Ipv6Header::kFlowLabel);
  set_to_ones(p, Ipv6Header::kHopLimit);
}

}  // namespace

std::uint32_t icrc(NetworkLayer layer, ByteView headers, std::size_t bth_offset,
                   const ByteChain& payload) {
  std::array<std::byte, kLrhSize + kMaxHeaders> masked;
  std::fill_n(masked.begin(), kLrhSize, std::byte{0xff});
  const std::size_t size = std::min(headers.size(), kMaxHeaders);
  std::byte* network = masked.data() + kLrhSize;
  std::memcpy(network, headers.data(), size);

  std::byte* bth = network + bth_offset;
  if (layer == NetworkLayer::ipv4) {
    mask_ipv4(network);
  } else {
    mask_ipv6(network);
  }
  if (layer != NetworkLayer::grh) set_to_ones(bth - UdpHeader::kSize, UdpHeader::kChecksum);
  set_to_ones(bth, Bth::kFecn);
  set_to_ones(bth, Bth::kBecn);
  set_to_ones(bth, Bth::kReserved6);

  std::uint32_t crc = crc32(0, ByteView(masked.data(), kLrhSize + size));
  for (const ByteView& piece : payload.pieces()) crc = crc32(crc, piece);
  return crc;
}

// The ICRC travels least significant byte first (IBTA vol. 1, 7.8.1).
void store_icrc(std::byte* p, std::uint32_t icrc) {
  store_be32(p, __builtin_bswap32(icrc));
}

std::uint32_t load_icrc(const std::byte* p) {
  return __builtin_bswap32(load_be32(p));
}

}  // namespace softrnic::wire
