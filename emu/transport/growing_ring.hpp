// SPDX-License-Identifier: BSD-3-Clause
// A queue with a bound that takes memory only as it fills, so that a queue pair which is never
// asked for much holds little: with a hundred thousand of them, that is what counts.
//
// It doubles when it is full, so it allocates a few times in its life and not for each packet. A
// peer can make it grow, hence a lack of memory is an answer and no exception.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace softrnic::transport {

template <class T>
class GrowingRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Empties it; from now on it holds at most `bound`.
  void start(std::uint32_t bound) {
    clear();
    bound_ = bound;
    if (capacity_ > bound_) release();
  }
  void clear() { head_ = size_ = 0; }
  // Holds at most `bound` from now on; what is in it stays, though it be more.
  void rebound(std::uint32_t bound) { bound_ = bound; }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  std::uint32_t bound() const { return bound_; }

  // 0 is the oldest.
  T& operator[](std::uint32_t index) { return items_[slot(index)]; }
  const T& operator[](std::uint32_t index) const { return items_[slot(index)]; }

  // Whether push() will find room: false at the bound, or when there is no memory.
  bool make_room() { return size_ < bound_ && (size_ < capacity_ || grow()); }
  // False, and nothing has changed, when there is no room.
  bool push(const T& item) {
    if (!make_room()) return false;
    items_[slot(size_)] = item;
    ++size_;
    return true;
  }
  void pop() {
    head_ = slot(1);
    --size_;
  }

 private:
  static constexpr std::uint32_t kFirstCapacity = 2;

  std::uint32_t slot(std::uint32_t index) const {
    const std::uint32_t at = head_ + index;
    return at < capacity_ ? at : at - capacity_;
  }

  bool grow() {
    const std::uint32_t wanted = std::min(bound_, std::max(kFirstCapacity, 2 * capacity_));
    std::unique_ptr<T[]> larger(new (std::nothrow) T[wanted]);
    if (larger == nullptr) return false;
    for (std::uint32_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    items_ = std::move(larger);
    capacity_ = wanted;
    head_ = 0;
    return true;
  }

  void release() {
    items_.reset();
    capacity_ = 0;
  }

  std::unique_ptr<T[]> items_;
  std::uint32_t bound_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace softrnic::transport
