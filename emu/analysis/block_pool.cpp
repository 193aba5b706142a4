// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define SOFTRNIC_EACH_BLOCK_ALONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOFTRNIC_EACH_BLOCK_ALONE 1
#endif
#endif

namespace softrnic::analysis {

namespace {

// A region is a large page, and begins at a multiple of its size, so that a block leads to it. It
// is cut into spans, each of blocks of one size; the first span holds what is said here. Blocks
// that would fill a span badly take several in a row, as of most sizes only one fits into a span.
constexpr std::size_t kRegion = std::size_t{2} << 20;
constexpr std::size_t kSpan = std::size_t{16} << 10;
constexpr std::size_t kLarge = kSpan / 8;  // blocks beyond this take kRow spans in a row
constexpr std::size_t kRow = 8;
constexpr std::size_t kSpans = kRegion / kSpan;
constexpr std::size_t kReserved = 8 * kRegion;  // address space that is asked for at once

// Sizes of blocks: multiples of 16 up to 512, from there sixteen to each power of two.
constexpr std::size_t kGrain = 16;
constexpr std::size_t kFine = 512;
constexpr std::size_t kFineClasses = kFine / kGrain;
constexpr std::size_t kStepBits = 4;
constexpr std::size_t kSteps = std::size_t{1} << kStepBits;
constexpr std::size_t kClasses = kFineClasses + kSteps * 5;  // up to a span

struct Region {
  std::size_t alone;  // bytes of a region that is one block; 0: it has spans
  std::array<std::uint8_t, kSpans> class_of;
};
static_assert(sizeof(Region) <= kSpan && kClasses <= 256);

std::size_t class_for(std::size_t bytes) {
  if (bytes <= kFine) return bytes == 0 ? 0 : (bytes - 1) / kGrain;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 9: up to 1024
  const std::size_t step = ((bytes - 1) >> (power - kStepBits)) & (kSteps - 1);
  return kFineClasses + kSteps * (power - 9) + step;
}

std::size_t size_of(std::size_t number) {
  if (number < kFineClasses) return (number + 1) * kGrain;
  const std::size_t power = 9 + (number - kFineClasses) / kSteps;
  return (std::size_t{1} << power) +
         ((number - kFineClasses) % kSteps + 1) * (std::size_t{1} << (power - kStepBits));
}

Region* region_of(void* block) {
  return reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(block) & ~(kRegion - 1));
}

// Address space that begins at a multiple of a region's size.
std::byte* map(std::size_t bytes) {
  void* const mapped = ::mmap(nullptr, bytes + kRegion, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) & (kRegion - 1);
  if (before != 0) ::munmap(begin, before);
  if (before != kRegion) ::munmap(begin + before + bytes, kRegion - before);
  return begin + before;
}

struct FreeBlock {
  FreeBlock* next;
};

class Pool {
 public:
  void* allocate(std::size_t bytes) {
    if (bytes > kSpan) return allocate_alone(bytes);
    const std::size_t number = class_for(bytes);
    if (FreeBlock* const block = free_[number]) {
      free_[number] = block->next;
      return block;
    }
    Span& span = open_[number];
    const std::size_t size = size_of(number);
    if (static_cast<std::size_t>(span.end - span.next) < size) {
      span = new_span(number, size > kLarge ? kRow : 1);
    }
    return std::exchange(span.next, span.next + size);
  }

  void release(void* block) noexcept {
    Region* const region = region_of(block);
    if (region->alone != 0) {
      ::munmap(region, region->alone);
      return;
    }
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) -
                                                 reinterpret_cast<std::byte*>(region));
    const std::size_t number = region->class_of[offset / kSpan];
    free_[number] = new (block) FreeBlock{free_[number]};
  }

 private:
  struct Span {
    std::byte* next = nullptr;
    std::byte* end = nullptr;
  };

  static void* allocate_alone(std::size_t bytes) {
    const std::size_t whole = (kSpan + bytes + kSpan - 1) / kSpan * kSpan;
    std::byte* const begin = map(whole);
    if (whole >= kRegion) ::madvise(begin, whole, MADV_HUGEPAGE);
    new (begin) Region{whole, {}};
    return begin + kSpan;
  }

  // As many spans in a row as are wanted, or what is left of the region.
  Span new_span(std::size_t number, std::size_t wanted) {
    if (region_ == nullptr || spans_ == kSpans) open_region();
    const std::size_t row = std::min(wanted, kSpans - spans_);
    std::fill_n(&region_->class_of[spans_], row, static_cast<std::uint8_t>(number));
    std::byte* const begin = reinterpret_cast<std::byte*>(region_) + spans_ * kSpan;
    spans_ += row;
    return {begin, begin + row * kSpan};
  }

  void open_region() {
    const bool first = reserved_ == nullptr;
    if (reserved_ == reserved_end_) {
      reserved_ = map(kReserved);
      reserved_end_ = reserved_ + kReserved;
    }
    // What needs no more than one region does not pay for clearing a large page.
    if (!first) ::madvise(reserved_, kRegion, MADV_HUGEPAGE);
    region_ = new (reserved_) Region{};
    reserved_ += kRegion;
    spans_ = 1;
  }

  std::array<FreeBlock*, kClasses> free_{};
  std::array<Span, kClasses> open_{};
  Region* region_ = nullptr;
  std::size_t spans_ = 0;
  std::byte* reserved_ = nullptr;
  std::byte* reserved_end_ = nullptr;
};

#ifndef SOFTRNIC_EACH_BLOCK_ALONE
constinit thread_local Pool pool;
#endif

}  // namespace

#ifdef SOFTRNIC_EACH_BLOCK_ALONE
void* BlockPool::allocate(std::size_t bytes) {
  return ::operator new(bytes);
}
void BlockPool::release(void* block) noexcept {
  ::operator delete(block);
}
#else
void* BlockPool::allocate(std::size_t bytes) {
  return pool.allocate(bytes);
}
void BlockPool::release(void* block) noexcept {
  pool.release(block);
}
#endif

}  // namespace softrnic::analysis
