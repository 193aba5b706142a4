// SPDX-License-Identifier: BSD-3-Clause
// A slab of frames with one fixed buffer each, and the list of those that are free.
//
// The list runs through the frames themselves (a free frame's `handle` names the next), last in
// first out, so that a busy link keeps using the same warm buffers. Memory is taken when the pool
// grows, never per frame, and is touched only when a frame is first used.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "link/frame.hpp"

namespace softrnic::link {

class FramePool {
 public:
  // Each buffer holds `buffer_size` bytes, headroom included.
  explicit FramePool(std::size_t buffer_size);
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  void grow(std::size_t frames);

  // An empty frame with wire::kHeadroom bytes free in front; null when all are lent.
  Frame* allocate();
  // As many as there are, up to out.size().
  std::size_t allocate(std::span<Frame*> out);
  void release(Frame* frame);
  void release(std::span<Frame* const> frames);

  // Whether the frame is one of this pool's.
  bool owns(const Frame* frame) const;

  std::size_t available() const { return available_; }

 private:
  struct Slab {
    std::unique_ptr<std::byte[]> buffers;
    std::unique_ptr<Frame[]> frames;
    std::size_t count;
  };

  std::size_t buffer_size_;
  std::vector<Slab> slabs_;
  Frame* free_ = nullptr;
  std::size_t available_ = 0;
};

}  // namespace softrnic::link
