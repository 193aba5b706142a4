// SPDX-License-Identifier: BSD-3-Clause
// A queue in one circular block that doubles when full, halves when all but empty, and allocates
// nothing before its first use: there are several in every direction of every stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "analysis/block_pool.hpp"

namespace softrnic::analysis {

// `Count` holds the number of elements; who fills it sees to that.
template <class T, class Count = std::uint32_t>
class Ring {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return slots_[(head_ + i) & mask()]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & mask()]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // The place of an element of this ring: operator[](index_of(x)) is x.
  std::size_t index_of(const T& element) const {
    return (static_cast<std::size_t>(&element - slots_.get()) - head_) & mask();
  }

  void push_back(const T& value) {
    if (size_ == room()) resize(size_ == 0 ? kFewest : 2 * room());
    ++size_;
    back() = value;
  }

  void pop_front() {
    head_ = static_cast<Count>((head_ + 1) & mask());
    --size_;
    if (room() > kKept && size_ * std::size_t{8} < room()) resize(room() / 2);
  }

  // The oldest will be looked at soon.
  void prefetch() const {
    if (size_ != 0) __builtin_prefetch(&front());
  }

  // Gives back what is not used, where nothing is likely to come soon.
  void trim() {
    std::size_t room = size_ == 0 ? 0 : kFewest;
    while (room < size_) room *= 2;
    if (room < this->room()) resize(room);
  }

  // Puts a value that `before(value, later)` orders before its neighbours in its place, but looks
  // no further back than `most` elements: what is later than that stays out of order. Returns where
  // it lies.
  template <class Before>
  std::size_t insert(const T& value, std::size_t most, Before before) {
    push_back(value);
    std::size_t i = size_ - 1;
    while (i > 0 && most-- > 0 && before((*this)[i], (*this)[i - 1])) {
      std::swap((*this)[i], (*this)[i - 1]);
      --i;
    }
    return i;
  }

  void clear() { head_ = size_ = 0; }
  std::size_t memory() const { return room() * sizeof(T); }

 private:
  static constexpr std::size_t kFewest = 1;
  static constexpr std::size_t kKept = 32;  // not worth giving back

  std::size_t room() const { return slots_ == nullptr ? 0 : std::size_t{mask_} + 1; }
  std::size_t mask() const { return mask_; }

  // To a power of two of places, or none, and at least as many as are used.
  void resize(std::size_t room) {
    PoolArray<T> slots = room == 0 ? nullptr : make_pooled_array<T>(room);
    for (std::size_t i = 0; i < size_; ++i) slots[i] = (*this)[i];
    slots_ = std::move(slots);
    mask_ = static_cast<Count>(room == 0 ? 0 : room - 1);
    head_ = 0;
  }

  PoolArray<T> slots_;
  Count mask_ = 0;  // of places, one less than there are of them
  Count head_ = 0;
  Count size_ = 0;
};

}  // namespace softrnic::analysis
