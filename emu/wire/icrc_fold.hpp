// SPDX-License-Identifier: BSD-3-Clause
// An ICRC by wide carry-less multiplication: the headers are masked on their way through the
// registers, and a payload that lies right behind them, up to the usual MTU, is summed with them.
//
// ISA-L cannot mask without a copy, and a call of it costs more than a header does; it takes over
// for the payloads that are long or lie elsewhere.
#pragma once

#include <array>
#include <cstdint>

#include "wire/bytes.hpp"

namespace softrnic::wire {

// Bits to be set in the first bytes of an ICRC's input, between zeros, so that a 64-byte window
// may hang over either end.
//
// The input begins with eight bytes of ones for the local route header. The CRC register, which
// starts as ones too, turns the first four into zeros, which weigh nothing; four are left.
class IcrcMask {
 public:
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kLrhLeft = 4;

  constexpr IcrcMask() {
    for (std::size_t i = 0; i < kLrhLeft; ++i) bits_[kWindow + i] = std::byte{0xff};
  }

  // The bits for the network header and what follows, up to 128 bytes, of which 60 may be set.
  constexpr std::byte* headers() { return bits_.data() + kHeaders; }
  constexpr const std::byte* headers() const { return bits_.data() + kHeaders; }
  // The window that ends before input byte `end`, at most 128.
  const std::byte* window(std::size_t end) const { return bits_.data() + end; }

 private:
  static constexpr std::size_t kHeaders = kWindow + kLrhLeft;
  alignas(kWindow) std::array<std::byte, 4 * kWindow> bits_{};
};

// Whether the processor has the instructions (x86-64 with AVX-512BW and VPCLMULQDQ). False until
// its initialiser has run, which makes for slower sums and not for wrong ones.
extern const bool kCanFoldIcrc;

// Sizes that icrc_fold() takes: multiples of four, from IPv4, UDP and BTH alone on.
inline constexpr std::size_t kMinIcrcFold = 40;
inline constexpr std::size_t kMaxIcrcFold = 20 * IcrcMask::kWindow - IcrcMask::kLrhLeft;
constexpr bool folds_icrc_of(std::size_t size) {
  return size >= kMinIcrcFold && size <= kMaxIcrcFold && size % 4 == 0;
}

// The CRC-32 of the eight bytes for the LRH and then `bytes`, masked.
std::uint32_t icrc_fold(ByteView bytes, const IcrcMask& mask);

}  // namespace softrnic::wire
