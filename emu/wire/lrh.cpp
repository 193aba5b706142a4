// SPDX-License-Identifier: BSD-3-Clause
#include "wire/lrh.hpp"

#include <algorithm>
#include <array>

#include "wire/bth.hpp"
#include "wire/crc32.hpp"

namespace softrnic::wire {
namespace {

// Polynomial 0x100B, reflected.
constexpr std::uint16_t kPolynomial = 0xd008;

constexpr std::array<std::uint16_t, 256> make_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    unsigned crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ kPolynomial : crc >> 1;
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kTable = make_table();

}  // namespace

Lrh Lrh::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Lrh lrh;
  lrh.virtual_lane = load_u8(p) >> 4;
  lrh.link_version = load_u8(p) & 0xf;
  lrh.service_level = load_u8(p + 1) >> 4;
  lrh.next = static_cast<Next>(load_u8(p + 1) & 3);
  lrh.destination = load_be16(p + 2);
  lrh.packet_length = load_be16(p + 4) & 0x7ff;
  lrh.source = load_be16(p + 6);
  return lrh;
}

// 7.8.1: the virtual lane and the BTH's reserved bits (FECN and BECN among them) count as ones.
std::uint32_t local_icrc(ByteView packet) {
  constexpr std::size_t kHeaders = Lrh::kSize + Bth::kSize;
  constexpr std::size_t kVariant = 4;  // byte of the BTH
  std::array<std::byte, kHeaders> headers{};
  const std::size_t size = std::min(packet.size(), kHeaders);
  std::copy_n(packet.begin(), size, headers.begin());
  headers[0] |= std::byte{0xf0};
  if (size > Lrh::kSize + kVariant) headers[Lrh::kSize + kVariant] = std::byte{0xff};
  return crc32(crc32(0, ByteView(headers).first(size)), packet.subspan(size));
}

std::uint16_t vcrc(ByteView packet) {
  std::uint32_t crc = 0xffff;
  for (const std::byte byte : packet) {
    crc = crc >> 8 ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return static_cast<std::uint16_t>(~crc);
}

std::uint16_t load_vcrc(const std::byte* p) {
  return static_cast<std::uint16_t>(load_u8(p) | load_u8(p + 1) << 8);
}

}  // namespace softrnic::wire
