// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/bth.hpp"
#include "wire/crc32.hpp"
#include "wire/grh.hpp"
#include "wire/icrc_fold.hpp"
#include "wire/ipv4.hpp"
#include "wire/ipv6.hpp"
#include "wire/packet_view.hpp"
#include "wire/udp.hpp"

namespace softrnic::wire {
namespace {

constexpr std::size_t kMaxHeaders = 128;

// The CRC after eight bytes of ones, which stand for a local route header.
constexpr std::uint32_t kSeed = 0x2144df1c;

constexpr void set_ones(std::byte* header, const Field& field) {
  put(header, field, ~std::uint64_t{0});
}

// Sets to ones what may change in flight: IBTA vol. 1, 7.8.1, and annexes A16 and A17. IPv4
// identification and flags may not change.
constexpr void mask_headers(NetworkLayer layer, std::byte* network, std::size_t bth_offset) {
  if (layer == NetworkLayer::ipv4) {
    set_ones(network, Ipv4Header::kTrafficClass);
    set_ones(network, Ipv4Header::kTimeToLive);
    set_ones(network, Ipv4Header::kChecksum);
  } else {
    set_ones(network, Ipv6Header::kTrafficClass);
    set_ones(network, Ipv6Header::kFlowLabel);
    set_ones(network, Ipv6Header::kHopLimit);
  }
  std::byte* bth = network + bth_offset;
  if (layer != NetworkLayer::grh) set_ones(bth - UdpHeader::kSize, UdpHeader::kChecksum);
  set_ones(bth, Bth::kFecn);
  set_ones(bth, Bth::kBecn);
  set_ones(bth, Bth::kReserved6);
}

// The mask of a frame as every sender lays it out, ready to be applied in passing.
struct Layout {
  std::size_t bth_offset;
  IcrcMask mask;
};

constexpr Layout layout_of(NetworkLayer layer, std::size_t bth_offset) {
  Layout layout{bth_offset, {}};
  mask_headers(layer, layout.mask.headers(), bth_offset);
  return layout;
}

constexpr std::array kLayouts = {
    layout_of(NetworkLayer::grh, Grh::kSize),
    layout_of(NetworkLayer::ipv4, Ipv4Header::kSize + UdpHeader::kSize),
    layout_of(NetworkLayer::ipv6, Ipv6Header::kSize + UdpHeader::kSize),
};

bool follows(ByteView headers, const ByteChain& payload) {
  return payload.pieces().size() == 1 && payload.front().data() == headers.data() + headers.size();
}

// Functions of their own, to keep their stack frames out of the fast path.
[[gnu::noinline]] std::uint32_t icrc_in_pieces(ByteView headers, const IcrcMask& mask,
                                               const ByteChain& payload) {
  std::uint32_t crc = icrc_fold(headers, mask);
  for (const ByteView& piece : payload.pieces()) crc = crc32(crc, piece);
  return crc;
}

[[gnu::noinline]] std::uint32_t icrc_of_copy(ByteView headers, const IcrcMask& mask,
                                             const ByteChain& payload) {
  std::array<std::byte, kMaxHeaders> masked;
  const std::size_t size = std::min(headers.size(), masked.size());
  const std::byte* ones = mask.headers();
  std::size_t i = 0;
  for (std::uint64_t word, bits; i + sizeof(word) <= size; i += sizeof(word)) {
    std::memcpy(&word, headers.data() + i, sizeof(word));
    std::memcpy(&bits, ones + i, sizeof(bits));
    word |= bits;
    std::memcpy(masked.data() + i, &word, sizeof(word));
  }
  for (; i < size; ++i) masked[i] = headers[i] | ones[i];
  std::uint32_t crc = crc32(kSeed, ByteView(masked.data(), size));
  for (const ByteView& piece : payload.pieces()) crc = crc32(crc, piece);
  return crc;
}

}  // namespace

std::uint32_t icrc(NetworkLayer layer, ByteView headers, std::size_t bth_offset,
                   const ByteChain& payload) {
  const Layout& layout = kLayouts[static_cast<std::size_t>(layer)];
  if (bth_offset != layout.bth_offset) return icrc_portable(layer, headers, bth_offset, payload);
  if (!kCanFoldIcrc || !folds_icrc_of(headers.size())) {
    return icrc_of_copy(headers, layout.mask, payload);
  }
  const std::size_t size = headers.size() + payload.size();
  if (folds_icrc_of(size) && follows(headers, payload)) {
    return icrc_fold(ByteView(headers.data(), size), layout.mask);
  }
  return icrc_in_pieces(headers, layout.mask, payload);
}

std::uint32_t icrc_portable(NetworkLayer layer, ByteView headers, std::size_t bth_offset,
                            const ByteChain& payload) {
  std::array<std::byte, kMaxHeaders> masked;
  const std::size_t size = std::min(headers.size(), masked.size());
  std::memcpy(masked.data(), headers.data(), size);
  mask_headers(layer, masked.data(), bth_offset);
  std::uint32_t crc = crc32_portable(kSeed, ByteView(masked.data(), size));
  for (const ByteView& piece : payload.pieces()) crc = crc32_portable(crc, piece);
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
