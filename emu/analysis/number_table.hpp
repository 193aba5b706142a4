// SPDX-License-Identifier: BSD-3-Clause
// Finds numbered things by a key that they hold themselves: open addressing in one flat array of
// their numbers, four bytes a place. What a number stands for may change its mind about its key
// only by being put over (see put()).
#pragma once

#include <cstdint>
#include <vector>

namespace softrnic::analysis {

class NumberTable {
 public:
  static constexpr std::uint32_t kNothing = 0xffffffff;

  // `is_it(number)`: whether it has the key that `hash` was made of.
  template <class IsIt>
  std::uint32_t find(std::uint64_t hash, IsIt is_it) const {
    return places_.empty() ? kNothing : places_[place(hash, is_it)];
  }

  // In two steps: where a number with this hash is likely to stand, and which one stands there.
  void prefetch(std::uint64_t hash) const {
    if (!places_.empty()) __builtin_prefetch(&places_[hash & (places_.size() - 1)]);
  }
  std::uint32_t first(std::uint64_t hash) const {
    return places_.empty() ? kNothing : places_[hash & (places_.size() - 1)];
  }

  // Takes the place of the number with the same key. `hash_of(number)` for all numbers in it.
  template <class IsIt, class HashOf>
  void put(std::uint64_t hash, std::uint32_t number, IsIt is_it, HashOf hash_of) {
    if (2 * (size_ + 1) > places_.size()) grow(hash_of);
    std::uint32_t& there = places_[place(hash, is_it)];
    if (there == kNothing) ++size_;
    there = number;
  }

  std::size_t memory() const { return places_.capacity() * sizeof(places_[0]); }

 private:
  template <class IsIt>
  std::size_t place(std::uint64_t hash, IsIt is_it) const {
    std::size_t i = hash & (places_.size() - 1);
    while (places_[i] != kNothing && !is_it(places_[i])) i = (i + 1) & (places_.size() - 1);
    return i;
  }

  template <class HashOf>
  void grow(HashOf hash_of) {
    std::vector<std::uint32_t> old(places_.empty() ? 16 : 2 * places_.size(), kNothing);
    old.swap(places_);
    for (const std::uint32_t number : old) {
      if (number == kNothing) continue;
      std::size_t i = hash_of(number) & (places_.size() - 1);
      while (places_[i] != kNothing) i = (i + 1) & (places_.size() - 1);
      places_[i] = number;
    }
  }

  std::vector<std::uint32_t> places_;
  std::size_t size_ = 0;
};

}  // namespace softrnic::analysis
