// SPDX-License-Identifier: BSD-3-Clause
// A block of zeroed memory that costs nothing until it is touched, however large.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "failure.hpp"

namespace softrnic::tools {

class Buffer {
 public:
  Buffer() = default;
  // A Failure that says so when there is not so much memory.
  explicit Buffer(std::size_t size)
      : bytes_(static_cast<std::byte*>(std::calloc(size == 0 ? 1 : size, 1))), size_(size) {
    if (bytes_ == nullptr) fail("there is no room for {} bytes of memory: ask for less", size);
  }

  std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  std::span<std::byte> span() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
};

}  // namespace softrnic::tools
