// SPDX-License-Identifier: BSD-3-Clause
#include "edit/keyed_permutation.hpp"

#include <openssl/evp.h>

#include <new>

namespace softrnic::edit {
namespace {

constexpr unsigned kRounds = 8;
// Slow enough that trying words of a dictionary costs something, a few hundredths of a second.
constexpr int kIterations = 100'000;
constexpr std::string_view kSalt = "softrnic edit --anonymise";

template <class Block>
void put64(Block& block, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) {
    block[at + i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
  }
}

}  // namespace

struct KeyedPermutation::Cipher {
  explicit Cipher(const std::array<std::uint8_t, 16>& key) : context(EVP_CIPHER_CTX_new()) {
    const bool good =
        context != nullptr &&
        EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nullptr, key.data(), nullptr) == 1 &&
        EVP_CIPHER_CTX_set_padding(context, 0) == 1;
    if (!good) throw std::bad_alloc();  // it fails for nothing else
  }
  ~Cipher() { EVP_CIPHER_CTX_free(context); }
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  EVP_CIPHER_CTX* context;
};

KeyedPermutation::KeyedPermutation(std::string_view key) {
  std::array<std::uint8_t, 16> derived{};
  const int good = PKCS5_PBKDF2_HMAC(key.data(), static_cast<int>(key.size()),
                                     reinterpret_cast<const unsigned char*>(kSalt.data()),
                                     static_cast<int>(kSalt.size()), kIterations, EVP_sha256(),
                                     static_cast<int>(derived.size()), derived.data());
  if (good != 1) throw std::bad_alloc();
  cipher_ = std::make_unique<Cipher>(derived);
}

KeyedPermutation::~KeyedPermutation() = default;

KeyedPermutation::Block KeyedPermutation::encrypt(const Block& block) const {
  Block out{};
  int size = 0;
  const int good = EVP_EncryptUpdate(cipher_->context, out.data(), &size, block.data(),
                                     static_cast<int>(block.size()));
  if (good != 1) throw std::bad_alloc();
  return out;
}

std::uint64_t KeyedPermutation::draw(std::uint8_t domain, std::uint64_t value) const {
  Block block{};
  block[0] = domain;
  put64(block, 8, value);
  const Block out = encrypt(block);
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < 8; ++i) drawn = drawn << 8 | out[i];
  return drawn;
}

std::uint64_t KeyedPermutation::permute(std::uint8_t domain, std::uint64_t value,
                                        unsigned bits) const {
  const unsigned half = bits / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t left = value >> half & mask;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // Halves are at most 32 bits, so the round fits above.
    const std::uint64_t drawn = draw(domain, round << 32 | right) & mask;
    const std::uint64_t next = left ^ drawn;
    left = right;
    right = next;
  }
  return left << half | right;
}

KeyedPermutation::Address KeyedPermutation::permute_prefixes(std::uint8_t domain,
                                                             const Address& address,
                                                             unsigned kept) const {
  Address result = address;
  Block prefix{};
  for (unsigned i = 0; i < 128; ++i) {
    const auto bit = static_cast<std::uint8_t>(0x80 >> i % 8);
    if (i >= kept) {
      // The prefix so far, with a chain of two blocks as it takes all of one by itself.
      Block first{};
      first[0] = domain;
      first[1] = static_cast<std::uint8_t>(i);
      Block chained = encrypt(first);
      for (std::size_t j = 0; j < chained.size(); ++j) chained[j] ^= prefix[j];
      if ((encrypt(chained)[0] & 1) != 0) result[i / 8] ^= bit;
    }
    prefix[i / 8] = static_cast<std::uint8_t>(prefix[i / 8] | (address[i / 8] & bit));
  }
  return result;
}

}  // namespace softrnic::edit
