// SPDX-License-Identifier: BSD-3-Clause
// Keyed permutations of numbers and prefix-preserving ones of addresses: the same key gives the
// same result, different values stay different, and without the key nothing is told of the
// original.
//
// AES-128 is the pseudorandom function, its key made from the user's by PBKDF2 with SHA-256.
// Numbers go through a Feistel network, addresses bit by bit as Crypto-PAn does it (Xu et al.,
// 2002).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace softrnic::edit {

class KeyedPermutation {
 public:
  explicit KeyedPermutation(std::string_view key);
  ~KeyedPermutation();
  KeyedPermutation(const KeyedPermutation&) = delete;
  KeyedPermutation& operator=(const KeyedPermutation&) = delete;

  // A pseudorandom number for a value; `domain` keeps uses apart.
  std::uint64_t draw(std::uint8_t domain, std::uint64_t value) const;
  // A permutation of the numbers below 2^bits, 2 to 64 of them; `bits` is even.
  std::uint64_t permute(std::uint8_t domain, std::uint64_t value, unsigned bits) const;
  // Addresses with the same first n bits get the same first n bits. The first `kept` stay.
  using Address = std::array<std::uint8_t, 16>;
  Address permute_prefixes(std::uint8_t domain, const Address& address, unsigned kept) const;

 private:
  using Block = std::array<std::uint8_t, 16>;
  Block encrypt(const Block& block) const;

  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
};

}  // namespace softrnic::edit
