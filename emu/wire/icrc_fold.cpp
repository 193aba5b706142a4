// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_fold.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace softrnic::wire {
namespace {

// Bytes are polynomials over GF(2) with the bit that goes first over the wire, the least
// significant one, as the highest power. So in a 128-bit lane bit i is x^(127 - i), and the
// carry-less product of two 64-bit halves a and b, read as a lane, is a * b * x: to multiply a
// half by x^n, its factor is x^(n - 1).
//
// The CRC of a run is the sum of its halves, each multiplied by x to the number of bits behind it
// and by x^32, modulo the polynomial. No half waits for another, and as the windows are counted
// from the run's end, the factors are the same for every run.
constexpr std::uint64_t kPolynomial = 0x1'04c1'1db7;  // IEEE 802.3, 3.2.9, highest power first

// Bit i of `bits` bits becomes bit (bits - 1 - i).
constexpr std::uint64_t reflect(std::uint64_t value, int bits) {
  std::uint64_t out = 0;
  for (int i = 0; i < bits; ++i) out |= (value >> i & 1) << (bits - 1 - i);
  return out;
}

constexpr std::uint64_t times_x(std::uint64_t value) {
  value <<= 1;
  return value >> 32 != 0 ? value ^ kPolynomial : value;
}

// x^64 divided by the polynomial, by long division.
constexpr std::uint64_t reciprocal() {
  std::uint64_t quotient = 0;
  std::uint64_t remainder = std::uint64_t{1} << 32;  // the leading 33 bits of x^64
  for (int i = 0; i <= 32; ++i) {
    quotient <<= 1;
    if (remainder >> 32 != 0) {
      remainder ^= kPolynomial;
      quotient |= 1;
    }
    remainder <<= 1;
  }
  return quotient;
}

// x^n modulo the polynomial, as a factor.
constexpr std::uint64_t power_of_x(int n) {
  std::uint64_t value = 1;
  for (int i = 0; i < n; ++i) value = times_x(value);
  return reflect(value, 64);
}

constexpr std::size_t kHalves = IcrcMask::kWindow / 8;
constexpr std::size_t kWindows = (kMaxIcrcFold + IcrcMask::kLrhLeft) / IcrcMask::kWindow;

// The factor of each half of each window as they lie in memory; the last half has nothing behind
// it.
using Factors = std::array<std::array<std::uint64_t, kHalves>, kWindows>;

alignas(IcrcMask::kWindow) constexpr Factors kFactors = [] {
  Factors factors{};
  std::uint64_t power = 1;
  for (int i = 0; i < 32 - 1; ++i) power = times_x(power);
  for (std::size_t half = kWindows * kHalves; half-- > 0;) {
    factors[half / kHalves][half % kHalves] = reflect(power, 64);
    for (int i = 0; i < 64; ++i) power = times_x(power);
  }
  return factors;
}();

// What the eight halves of a window contribute, as 96-bit numbers in four lanes.
[[gnu::target("avx512f,vpclmulqdq")]] inline __m512i moved_up(__m512i window, const void* factors) {
  const __m512i f = _mm512_load_si512(factors);
  return _mm512_xor_si512(_mm512_clmulepi64_epi128(window, f, 0x00),
                          _mm512_clmulepi64_epi128(window, f, 0x11));
}

// (The forms without a mask make GCC 12 warn of uninitialised variables of their own.)
[[gnu::target("avx512f,avx512vl")]] inline __m128i sum_of_lanes(__m512i lanes) {
  const __m256i two = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xf, lanes, 0),
                                       _mm512_maskz_extracti64x4_epi64(0xf, lanes, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}

// The last 96 bits of a lane modulo the polynomial.
[[gnu::target("pclmul,sse4.1")]] inline std::uint32_t reduce(__m128i lane) {
  // The first 32 of them, which end the first half, move up by x^64: that leaves 64 bits.
  const __m128i x64 = _mm_set_epi64x(0, static_cast<std::int64_t>(power_of_x(64 - 1)));
  const __m128i bits64 = _mm_xor_si128(_mm_clmulepi64_si128(lane, x64, 0x00), lane);

  // Barrett: the quotient by the polynomial, then what that leaves.
  const __m128i divisor = _mm_set_epi64x(static_cast<std::int64_t>(reflect(kPolynomial, 33)),
                                         static_cast<std::int64_t>(reflect(reciprocal(), 33)));
  const __m128i first_word = _mm_set_epi32(0, 0, 0, -1);
  const __m128i dividend = _mm_srli_si128(bits64, 8);
  const __m128i quotient = _mm_and_si128(
      _mm_clmulepi64_si128(_mm_and_si128(dividend, first_word), divisor, 0x00), first_word);
  const __m128i remainder = _mm_xor_si128(_mm_clmulepi64_si128(quotient, divisor, 0x10), dividend);
  return static_cast<std::uint32_t>(_mm_extract_epi32(remainder, 1));
}

}  // namespace

const bool kCanFoldIcrc =
    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
    __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("pclmul") != 0;

[[gnu::target("avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul,sse4.1")]] std::uint32_t icrc_fold(
    ByteView bytes, const IcrcMask& mask) {
  constexpr std::size_t kWindow = IcrcMask::kWindow;
  const std::size_t size = bytes.size() + IcrcMask::kLrhLeft;
  const std::size_t windows = (size + kWindow - 1) / kWindow;
  std::size_t end = size - (windows - 1) * kWindow;  // of the first window, 4 to 64
  // The windows' addresses as numbers: the first may begin before the bytes, of which it then
  // loads none (and shifts in two steps, as there may be none at all).
  std::uintptr_t p =
      reinterpret_cast<std::uintptr_t>(bytes.data()) + end - IcrcMask::kLrhLeft - kWindow;
  const __mmask64 present = ~std::uint64_t{0} << (kWindow - end + IcrcMask::kLrhLeft - 1) << 1;
  const auto* factors = kFactors[kWindows - windows].data();

  __m512i window = _mm512_maskz_loadu_epi8(present, reinterpret_cast<const void*>(p));
  window = _mm512_or_si512(window, _mm512_loadu_si512(mask.window(end)));
  __m512i sum = moved_up(window, factors);
  if (windows > 1) {
    window = _mm512_loadu_si512(reinterpret_cast<const void*>(p + kWindow));
    window = _mm512_or_si512(window, _mm512_loadu_si512(mask.window(end + kWindow)));
    sum = _mm512_xor_si512(sum, moved_up(window, factors + kHalves));
  }
  for (std::size_t i = 2; i < windows; ++i) {
    window = _mm512_loadu_si512(reinterpret_cast<const void*>(p + i * kWindow));
    sum = _mm512_xor_si512(sum, moved_up(window, factors + i * kHalves));
  }
  return ~reduce(sum_of_lanes(sum));
}

}  // namespace softrnic::wire

#else

namespace softrnic::wire {

const bool kCanFoldIcrc = false;

// Never called, as the constant says.
std::uint32_t icrc_fold(ByteView, const IcrcMask&) {
  return 0;
}

}  // namespace softrnic::wire

#endif
