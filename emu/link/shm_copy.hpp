// SPDX-License-Identifier: BSD-3-Clause
// Copies frames to where another processor will read them. Threading: one thread.
#pragma once

#include <cstddef>

#include "link/shm_copy_choice.hpp"

namespace softrnic::link::shm {

class FrameCopy {
 public:
  // Whatever is published after it returns is seen after the bytes. The ranges must not overlap.
  void operator()(std::byte* to, const std::byte* from, std::size_t size);

 private:
  CopyChoice choice_;
};

// Past the caches, where the processor can; otherwise as memcpy() does.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace softrnic::link::shm
