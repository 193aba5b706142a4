// SPDX-License-Identifier: BSD-3-Clause
#include "link/frame_pool.hpp"

#include <algorithm>
#include <functional>

namespace softrnic::link {

namespace {

constexpr std::size_t kCacheLine = 64;

std::uint64_t as_handle(Frame* frame) {
  return reinterpret_cast<std::uintptr_t>(frame);
}
Frame* as_frame(std::uint64_t handle) {
  return reinterpret_cast<Frame*>(static_cast<std::uintptr_t>(handle));
}

}  // namespace

FramePool::FramePool(std::size_t buffer_size)
    : buffer_size_((buffer_size + kCacheLine - 1) / kCacheLine * kCacheLine) {}

void FramePool::grow(std::size_t frames) {
  // Uninitialised, so that a buffer's pages come into being when it is first used.
  Slab slab{std::make_unique_for_overwrite<std::byte[]>(frames * buffer_size_),
            std::make_unique<Frame[]>(frames), frames};
  for (std::size_t i = frames; i-- > 0;) {
    Frame& frame = slab.frames[i];
    frame.set_segment(0, slab.buffers.get() + i * buffer_size_,
                      static_cast<std::uint32_t>(buffer_size_));
    release(&frame);
  }
  slabs_.push_back(std::move(slab));
}

Frame* FramePool::allocate() {
  Frame* frame = free_;
  if (frame == nullptr) return nullptr;
  free_ = as_frame(frame->handle);
  --available_;
  frame->reset();
  return frame;
}

std::size_t FramePool::allocate(std::span<Frame*> out) {
  std::size_t n = 0;
  while (n < out.size() && (out[n] = allocate()) != nullptr) ++n;
  return n;
}

void FramePool::release(Frame* frame) {
  frame->handle = as_handle(free_);
  free_ = frame;
  ++available_;
}

void FramePool::release(std::span<Frame* const> frames) {
  for (Frame* frame : frames) release(frame);
}

bool FramePool::owns(const Frame* frame) const {
  return std::ranges::any_of(slabs_, [frame](const Slab& slab) {
    const std::less<> before;
    return !before(frame, slab.frames.get()) && before(frame, slab.frames.get() + slab.count);
  });
}

}  // namespace softrnic::link
