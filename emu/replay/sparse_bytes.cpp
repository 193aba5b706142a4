// SPDX-License-Identifier: BSD-3-Clause
#include "replay/sparse_bytes.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace softrnic::replay {

namespace {

std::uint64_t mapped_size(std::uint64_t size) {
  return std::max<std::uint64_t>(size, 1);
}

}  // namespace

SparseBytes::SparseBytes(std::uint64_t size) : size_(size) {
  void* map = ::mmap(nullptr, mapped_size(size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map != MAP_FAILED) data_ = static_cast<std::byte*>(map);
}

SparseBytes::~SparseBytes() {
  if (data_ != nullptr) ::munmap(data_, mapped_size(size_));
}

SparseBytes::SparseBytes(SparseBytes&& other) noexcept {
  *this = std::move(other);
}

SparseBytes& SparseBytes::operator=(SparseBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace softrnic::replay
