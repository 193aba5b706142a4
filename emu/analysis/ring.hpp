// SPDX-License-Identifier: BSD-3-Clause
// A queue in one circular block that doubles when full, halves when all but empty, and allocates
// nothing before its first use: there are several in every direction of every stream.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace softrnic::analysis {

template <class T>
class Ring {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // The place of an element of this ring: operator[](index_of(x)) is x.
  std::size_t index_of(const T& element) const {
    return (static_cast<std::size_t>(&element - slots_.data()) - head_) & (slots_.size() - 1);
  }

  void push_back(const T& value) {
    if (size_ == slots_.size()) grow();
    ++size_;
    back() = value;
  }

  void pop_front() {
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
    if (slots_.size() > kKept && size_ * 8 < slots_.size()) resize(slots_.size() / 2);
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
  std::size_t memory() const { return slots_.capacity() * sizeof(T); }

 private:
  static constexpr std::size_t kKept = 32;  // not worth giving back

  void grow() { resize(slots_.empty() ? 2 : 2 * slots_.size()); }

  void resize(std::size_t room) {
    std::vector<T> slots(room);
    for (std::size_t i = 0; i < size_; ++i) slots[i] = (*this)[i];
    slots_ = std::move(slots);
    head_ = 0;
  }

  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace softrnic::analysis
