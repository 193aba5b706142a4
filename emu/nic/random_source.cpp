// SPDX-License-Identifier: BSD-3-Clause
#include "nic/random_source.hpp"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <chrono>

namespace softrnic::nic {
namespace {

std::array<std::uint64_t, 2> system_key() {
  std::array<std::uint64_t, 2> key{};
  ssize_t n = 0;
  do {
    n = getrandom(key.data(), sizeof(key), 0);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof(key)) {
    // A system without the call: time and address-space layout are better than a constant.
    key[0] ^=
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    key[1] ^= reinterpret_cast<std::uintptr_t>(&key);
  }
  return key;
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

RandomSource::RandomSource(std::uint64_t seed)
    : key_(seed == 0 ? system_key() : std::array<std::uint64_t, 2>{seed, 0x736f667472'6e6963}) {}

std::uint64_t siphash24(std::uint64_t key0, std::uint64_t key1, std::uint64_t message) {
  SipState s{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261,
             key1 ^ 0x7465646279746573};
  s.absorb(message);
  s.absorb(std::uint64_t{8} << 56);  // SipHash closes a message with its length
  s.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) s.round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

std::uint32_t NumberSequence::permute(std::uint32_t number) const {
  constexpr std::uint32_t kHalf = 12;
  constexpr std::uint32_t kMask = (1u << kHalf) - 1;
  constexpr std::uint64_t kRounds = 6;
  std::uint32_t left = number >> kHalf;
  std::uint32_t right = number & kMask;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const auto f = static_cast<std::uint32_t>(source_.mix(i << 32 | right)) & kMask;
    left ^= f;
    std::swap(left, right);
  }
  return left << kHalf | right;
}

}  // namespace softrnic::nic
