// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory that costs nothing until it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace softrnic::replay {

class SparseBytes {
 public:
  SparseBytes() = default;
  // Not valid() when the system refuses.
  explicit SparseBytes(std::uint64_t size);
  ~SparseBytes();
  SparseBytes(SparseBytes&& other) noexcept;
  SparseBytes& operator=(SparseBytes&& other) noexcept;

  bool valid() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  std::span<std::byte> span() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace softrnic::replay
