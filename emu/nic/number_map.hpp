// SPDX-License-Identifier: BSD-3-Clause
// From a number on the wire (a queue pair's, a key's index) to what it names: open addressing in
// one flat array, so that a look-up per packet costs one or two cache lines. Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace softrnic::nic {

template <class T>
class NumberMap {
 public:
  T* find(std::uint32_t number) const {
    for (std::size_t i = home(number);; i = next(i)) {
      const Slot& slot = slots_[i];
      if (slot.value == nullptr || slot.number == number) return slot.value;
    }
  }

  // False when the number is taken.
  bool insert(std::uint32_t number, T* value) {
    if (find(number) != nullptr) return false;
    if ((size_ + 1) * 2 > slots_.size()) grow();
    place(number, value);
    ++size_;
    return true;
  }

  // What the number named, or null.
  T* erase(std::uint32_t number) {
    std::size_t hole = home(number);
    while (slots_[hole].value != nullptr && slots_[hole].number != number) hole = next(hole);
    T* value = slots_[hole].value;
    if (value == nullptr) return nullptr;
    close(hole);
    --size_;
    return value;
  }

  std::size_t size() const { return size_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.value != nullptr) visit(*slot.value);
    }
  }

 private:
  struct Slot {
    std::uint32_t number = 0;
    T* value = nullptr;
  };

  // Multiplicative hashing: consecutive numbers land far apart.
  std::size_t home(std::uint32_t number) const { return number * 0x9e3779b1u >> shift_; }
  std::size_t next(std::size_t i) const { return i + 1 == slots_.size() ? 0 : i + 1; }

  void place(std::uint32_t number, T* value) {
    std::size_t i = home(number);
    while (slots_[i].value != nullptr) i = next(i);
    slots_[i] = {number, value};
  }

  // Moves later entries of the run back over the hole, so that no tombstones pile up.
  void close(std::size_t hole) {
    for (std::size_t i = next(hole); slots_[i].value != nullptr; i = next(i)) {
      const std::size_t from_home = (i - home(slots_[i].number)) & (slots_.size() - 1);
      const std::size_t from_hole = (i - hole) & (slots_.size() - 1);
      if (from_home >= from_hole) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = {};
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    for (const Slot& slot : old) {
      if (slot.value != nullptr) place(slot.number, slot.value);
    }
  }

  static constexpr std::uint32_t kInitialBits = 4;
  std::uint32_t shift_ = 32 - kInitialBits;
  std::vector<Slot> slots_{std::size_t{1} << kInitialBits};
  std::size_t size_ = 0;
};

}  // namespace softrnic::nic
