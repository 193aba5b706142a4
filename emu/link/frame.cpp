// SPDX-License-Identifier: BSD-3-Clause
#include "link/frame.hpp"

#include <algorithm>

namespace softrnic::link {

void Frame::reset(std::uint32_t headroom) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    segments_[i].offset = 0;
    segments_[i].length = 0;
  }
  if (count_ > 0) segments_[0].offset = std::min(headroom, segments_[0].capacity);
  filled_ = 0;
  received_at = {};
  note.clear();
  identification_inferred = false;
}

void Frame::set_segment(std::size_t index, std::byte* base, std::uint32_t capacity) {
  segments_[index] = {base, capacity, 0, 0};
  count_ = static_cast<std::uint32_t>(index + 1);
  filled_ = 0;
}

void Frame::set_received(std::size_t index, std::byte* base, std::uint32_t capacity,
                         std::uint32_t offset, std::uint32_t length) {
  segments_[index] = {base, capacity, offset, length};
  count_ = static_cast<std::uint32_t>(index + 1);
  filled_ = static_cast<std::uint32_t>(index);
}

wire::MutableByteChain Frame::append(std::size_t n) {
  wire::MutableByteChain room;
  while (n > 0 && filled_ < count_) {
    Segment& segment = segments_[filled_];
    const std::uint32_t end = segment.offset + segment.length;
    const std::size_t taken = std::min<std::size_t>(n, segment.capacity - end);
    room.append({segment.base + end, taken});
    segment.length += static_cast<std::uint32_t>(taken);
    n -= taken;
    if (n > 0) {
      if (filled_ + 1 == count_) break;
      ++filled_;
    }
  }
  return room;
}

wire::ByteSpan Frame::prepend(std::size_t n) {
  if (count_ == 0 || segments_[0].offset < n) return {};
  Segment& first = segments_[0];
  first.offset -= static_cast<std::uint32_t>(n);
  first.length += static_cast<std::uint32_t>(n);
  return {first.base + first.offset, n};
}

std::size_t Frame::size() const {
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < count_; ++i) total += segments_[i].length;
  return total;
}

wire::ByteChain Frame::bytes() const {
  wire::ByteChain chain;
  for (std::uint32_t i = 0; i < count_; ++i) {
    chain.append({segments_[i].base + segments_[i].offset, segments_[i].length});
  }
  return chain;
}

wire::MutableByteChain Frame::mutable_bytes() {
  wire::MutableByteChain chain;
  for (std::uint32_t i = 0; i < count_; ++i) {
    chain.append({segments_[i].base + segments_[i].offset, segments_[i].length});
  }
  return chain;
}

}  // namespace softrnic::link
