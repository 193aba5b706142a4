// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_copy.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace softrnic::link::shm {

namespace {

// A shorter one is a few lines, and a latency that matters.
constexpr std::size_t kLong = 1024;

void copy_timed(CopyChoice& choice, std::byte* to, const std::byte* from, std::size_t size) {
  const auto began = std::chrono::steady_clock::now();
  std::memcpy(to, from, size);
  choice.took(std::chrono::steady_clock::now() - began, size);
}

}  // namespace

void FrameCopy::operator()(std::byte* to, const std::byte* from, std::size_t size) {
  if (size < kLong) {
    std::memcpy(to, from, size);
    return;
  }
  const CopyChoice::Copy copy = choice_.next();
  if (copy.timed) {
    copy_timed(choice_, to, from, size);
  } else if (copy.way == CopyChoice::Way::through_caches) {
    std::memcpy(to, from, size);
  } else {
    copy_past_caches(to, from, size);
  }
}

#if defined(__SSE2__)

namespace {

constexpr std::size_t kLine = 64;

void stream_line(std::byte* to, const std::byte* from) {
  auto* const target = reinterpret_cast<__m128i*>(to);
  const auto* const source = reinterpret_cast<const __m128i*>(from);
  const __m128i a = _mm_loadu_si128(source);
  const __m128i b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2);
  const __m128i d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t size) {
  const std::size_t before_line = -reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t unaligned = before_line < size ? before_line : size;
  std::memcpy(to, from, unaligned);
  to += unaligned;
  from += unaligned;
  size -= unaligned;
  for (; size >= kLine; size -= kLine, to += kLine, from += kLine) stream_line(to, from);
  std::memcpy(to, from, size);
  _mm_sfence();  // streamed stores are in no order with the one that publishes them
}

#else

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t size) {
  std::memcpy(to, from, size);
}

#endif

}  // namespace softrnic::link::shm
