// SPDX-License-Identifier: BSD-3-Clause
#include "wire/gid.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace softrnic::wire {
namespace {

constexpr std::size_t kIpv4Offset = 12;

// ::ffff:0:0/96 (RFC 4291, 2.5.5.2).
constexpr std::array<std::uint8_t, kIpv4Offset> kMappedPrefix = {0, 0, 0, 0, 0,    0,
                                                                 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Gid Gid::from_ipv4(std::uint32_t host_order) {
  Gid gid;
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), gid.bytes.begin());
  for (std::size_t i = 0; i < 4; ++i) {
    gid.bytes[kIpv4Offset + i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return gid;
}

Gid Gid::link_local(const MacAddress& mac) {
  const auto& m = mac.bytes;
  const auto universal_bit_flipped = static_cast<std::uint8_t>(m[0] ^ 0x02);
  return {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, universal_bit_flipped, m[1], m[2], 0xff, 0xfe, m[3], m[4],
           m[5]}};
}

std::optional<Gid> Gid::from_string(std::string_view text) {
  // inet_pton wants a terminated string, and would stop early at a zero inside it.
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return std::nullopt;
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), terminated.begin());

  in_addr v4{};
  if (inet_pton(AF_INET, terminated.data(), &v4) == 1) return from_ipv4(ntohl(v4.s_addr));
  Gid gid;
  if (inet_pton(AF_INET6, terminated.data(), gid.bytes.data()) == 1) return gid;
  return std::nullopt;
}

std::string Gid::to_string() const {
  if (is_ipv4_mapped()) {  // by hand: reports name hundreds of thousands
    std::string text;
    for (std::size_t i = kIpv4Offset; i < bytes.size(); ++i) {
      if (i != kIpv4Offset) text += '.';
      text += std::to_string(unsigned{bytes[i]});
    }
    return text;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return text.data();
}

bool Gid::is_ipv4_mapped() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin());
}

std::uint32_t Gid::ipv4() const {
  std::uint32_t address = 0;
  for (std::size_t i = 0; i < 4; ++i) address = address << 8 | bytes[kIpv4Offset + i];
  return address;
}

bool Gid::is_link_local() const {
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool Gid::is_multicast() const {
  return bytes[0] == 0xff || (is_ipv4_mapped() && (bytes[kIpv4Offset] & 0xf0) == 0xe0);
}

bool Gid::is_zero() const {
  return *this == Gid{};
}

}  // namespace softrnic::wire
