// SPDX-License-Identifier: BSD-3-Clause
// An array that only grows, in pages of equal size: growing moves nothing, so that a capture of
// millions of packets never pauses for a copy and references stay good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/block_pool.hpp"

namespace softrnic::analysis {

template <class T, std::size_t kPageBits = 9>
class PagedArray {
 public:
  static constexpr std::size_t kPage = std::size_t{1} << kPageBits;

  std::uint32_t push_back(T value) {
    if (size_ == pages_.size() * kPage) pages_.push_back(make_page());
    pages_.back()[size_ & (kPage - 1)] = std::move(value);
    return static_cast<std::uint32_t>(size_++);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return pages_[i >> kPageBits][i & (kPage - 1)]; }
  const T& operator[](std::size_t i) const { return pages_[i >> kPageBits][i & (kPage - 1)]; }
  T& back() { return (*this)[size_ - 1]; }

  std::size_t memory() const {
    return pages_.size() * kPage * sizeof(T) + pages_.capacity() * sizeof(pages_[0]);
  }

 private:
  struct PageDelete {
    void operator()(T* page) const {
      std::destroy_n(page, kPage);
      BlockPool::release(page);
    }
  };
  using Page = std::unique_ptr<T[], PageDelete>;

  static Page make_page() {
    auto* const page = static_cast<T*>(BlockPool::allocate(kPage * sizeof(T)));
    std::uninitialized_value_construct_n(page, kPage);
    return Page(page);
  }

  std::vector<Page> pages_;
  std::size_t size_ = 0;
};

}  // namespace softrnic::analysis
