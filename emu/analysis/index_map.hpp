// SPDX-License-Identifier: BSD-3-Clause
// From a key of four words to a number: open addressing in one flat array, one or two cache lines a
// look-up. Keys are never removed; what they name may be set anew.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace softrnic::analysis {

class IndexMap {
 public:
  using Key = std::array<std::uint32_t, 4>;

  const std::uint64_t* find(const Key& key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(key)];
    return slot.used ? &slot.value : nullptr;
  }

  // The number of the key, 0 when it is new.
  std::uint64_t& operator[](const Key& key) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (!slot.used) {
      slot = {key, 0, true};
      ++size_;
    }
    return slot.value;
  }

  // Of a key, for other tables of such keys.
  std::uint64_t hash(const Key& key) const {
    return mix(mix(secret_ ^ (std::uint64_t{key[0]} << 32 | key[1])) ^
               (std::uint64_t{key[2]} << 32 | key[3]));
  }

  std::size_t memory() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    Key key{};
    std::uint64_t value = 0;
    bool used = false;
  };

  // Not to be foreseen: a capture is made by anybody, and keys chosen to collide would make each
  // look-up a walk over all of them.
  static std::uint64_t secret() {
    static const std::uint64_t value = [] {
      std::random_device source;
      return std::uint64_t{source()} << 32 | source();
    }();
    return value;
  }

  // The finalizer of splitmix64.
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }

  std::size_t place(const Key& key) const {
    std::size_t i = hash(key) & (slots_.size() - 1);
    while (slots_[i].used && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.used) slots_[place(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::uint64_t secret_ = secret();
};

}  // namespace softrnic::analysis
