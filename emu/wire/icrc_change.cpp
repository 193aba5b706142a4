// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_change.hpp"

#include <array>

namespace softrnic::wire {
namespace {

// Polynomials over GF(2) modulo the generator of CRC-32, reflected as the ICRC is: the highest bit
// is the coefficient of x^0.
constexpr std::uint32_t kGenerator = 0xedb88320;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t p) {
  return (p & 1) != 0 ? (p >> 1) ^ kGenerator : p >> 1;
}

constexpr std::uint32_t over_x(std::uint32_t p) {
  return (p & kOne) != 0 ? ((p ^ kGenerator) << 1) | 1 : p << 1;
}
static_assert(over_x(times_x(0x12345679)) == 0x12345679);

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & kOne) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}

// x^(8 n) and x^(-8 n), n in steps of one and of 256.
struct Powers {
  std::array<std::uint32_t, 256> ones{};
  std::array<std::uint32_t, 256> many{};

  constexpr std::uint32_t of(std::size_t bytes) const {
    return multiply(ones[bytes % 256], many[bytes / 256 % 256]);
  }
};

template <std::uint32_t (*step)(std::uint32_t)>
constexpr Powers make_powers() {
  Powers powers;
  std::uint32_t power = kOne;
  for (std::uint32_t& entry : powers.ones) {
    entry = power;
    for (int bit = 0; bit < 8; ++bit) power = step(power);
  }
  const std::uint32_t whole = power;
  power = kOne;
  for (std::uint32_t& entry : powers.many) {
    entry = power;
    power = multiply(power, whole);
  }
  return powers;
}

constexpr Powers kPowers = make_powers<times_x>();
constexpr Powers kInversePowers = make_powers<over_x>();

// The two bytes as they enter the register, first byte lowest, which the register shifts out by
// their own 16 bits as well.
constexpr std::size_t kOwn = 2;

constexpr std::uint32_t swapped(std::uint32_t bits) {
  return (bits & 0xff) << 8 | bits >> 8;
}

}  // namespace

std::uint32_t icrc_change(std::uint16_t difference, std::size_t behind) {
  return multiply(swapped(difference), kPowers.of(behind + kOwn));
}

std::optional<std::uint16_t> difference_behind(std::uint32_t change, std::size_t behind) {
  const std::uint32_t bits = multiply(change, kInversePowers.of(behind + kOwn));
  if (bits > 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(swapped(bits));
}

}  // namespace softrnic::wire
