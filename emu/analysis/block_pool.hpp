// SPDX-License-Identifier: BSD-3-Clause
// Memory for the many small things that are kept of connections, out of large regions that the
// system backs with large pages where it can. With a hundred thousand connections nearly every
// access is to another page, and with small pages finding the page takes longer than the access.
//
// A block given back is used again for another of about its size; regions are kept for the life of
// the process. Each thread has a pool of its own, and a block may be given back by any thread.
// Where the address sanitizer watches, every block is its own allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace softrnic::analysis {

class BlockPool {
 public:
  // Aligned for anything that is not over-aligned; throws std::bad_alloc.
  static void* allocate(std::size_t bytes);
  static void release(void* block) noexcept;
};

// For containers.
template <class T>
struct PoolAllocator {
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>& /*other*/) {}

  T* allocate(std::size_t n) { return static_cast<T*>(BlockPool::allocate(n * sizeof(T))); }
  void deallocate(T* block, std::size_t /*n*/) { BlockPool::release(block); }

  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

struct PoolDelete {
  template <class T>
  void operator()(T* value) const {
    std::destroy_at(value);
    BlockPool::release(value);
  }
};

template <class T>
using PoolPointer = std::unique_ptr<T, PoolDelete>;

template <class T>
PoolPointer<T> make_pooled() {
  void* const block = BlockPool::allocate(sizeof(T));
  return PoolPointer<T>(new (block) T());
}

// Arrays of what needs no destructor.
struct PoolArrayDelete {
  template <class T>
  void operator()(T* values) const {
    static_assert(std::is_trivially_destructible_v<T>);
    BlockPool::release(values);
  }
};

template <class T>
using PoolArray = std::unique_ptr<T[], PoolArrayDelete>;

template <class T>
PoolArray<T> make_pooled_array(std::size_t size) {
  auto* const values = static_cast<T*>(BlockPool::allocate(size * sizeof(T)));
  std::uninitialized_value_construct_n(values, size);
  return PoolArray<T>(values);
}

}  // namespace softrnic::analysis
