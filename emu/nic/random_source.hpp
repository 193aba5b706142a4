// SPDX-License-Identifier: BSD-3-Clause
// Numbers that follow from a seed and cannot be told from those seen before: SipHash-2-4 of a
// counter under a 128-bit key (Aumasson, Bernstein, 2012). For keys, MAC addresses and starting
// points; not for the fast path.
#pragma once

#include <array>
#include <cstdint>

namespace softrnic::nic {

std::uint64_t siphash24(std::uint64_t key0, std::uint64_t key1, std::uint64_t message);

class RandomSource {
 public:
  // Zero: a key drawn from the system, different each time.
  explicit RandomSource(std::uint64_t seed);

  std::uint64_t next() { return hash(counter_++); }
  // The same input gives the same output; independent of next().
  std::uint64_t mix(std::uint64_t input) const { return hash(~input); }

 private:
  std::uint64_t hash(std::uint64_t input) const { return siphash24(key_[0], key_[1], input); }

  std::array<std::uint64_t, 2> key_{};
  std::uint64_t counter_ = 0;
};

// Visits every 24-bit number once, in an order only the source's key tells: a Feistel network over
// a counter. What it gave does not come again for 2^24 draws.
class NumberSequence {
 public:
  static constexpr std::uint32_t kCount = 1u << 24;

  explicit NumberSequence(const RandomSource& source) : source_(source) {}
  std::uint32_t next() { return permute(counter_++ % kCount); }

 private:
  std::uint32_t permute(std::uint32_t number) const;

  RandomSource source_;
  std::uint32_t counter_ = 0;
};

}  // namespace softrnic::nic
