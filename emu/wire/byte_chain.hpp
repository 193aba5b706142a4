// SPDX-License-Identifier: BSD-3-Clause
// A run of bytes that lies in up to three pieces.
//
// AF_XDP delivers a 4 KiB-MTU frame in two buffers, so a frame, and the payload inside it, is a
// chain of spans and not one span. A chain owns nothing; the spans must outlive it. Never empty
// spans inside a chain. No function allocates or throws; out-of-range requests are clamped, so
// a caller that asks for more than there is gets a shorter chain and must compare sizes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "wire/bytes.hpp"

namespace softrnic::wire {

template <class Byte>
class BasicByteChain {
 public:
  static constexpr std::size_t kMaxPieces = 3;
  using Piece = std::span<Byte>;

  struct OwnPieces {
    std::array<Piece, kMaxPieces> all;
    std::size_t count;

    constexpr const Piece* begin() const { return all.data(); }
    constexpr const Piece* end() const { return all.data() + count; }
    constexpr std::size_t size() const { return count; }
    constexpr bool empty() const { return count == 0; }
    constexpr const Piece& operator[](std::size_t i) const { return all[i]; }
  };

  constexpr BasicByteChain() = default;
  constexpr BasicByteChain(Piece piece) { append(piece); }  // NOLINT: a span is a chain

  // A chain of mutable bytes is also a chain of constant bytes.
  template <class Other>
  requires(std::is_same_v<Byte, const std::byte>&& std::is_same_v<
           Other, std::byte>) constexpr BasicByteChain(const BasicByteChain<Other>&
                                                           other) {  // NOLINT
    for (auto piece : other.pieces()) append(piece);
  }

  // False when the chain is full; the chain is then unchanged. Empty pieces are accepted and
  // not stored.
  constexpr bool append(Piece piece) {
    if (piece.empty()) return true;
    if (count_ == kMaxPieces) return false;
    pieces_[count_++] = piece;
    size_ += piece.size();
    return true;
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::span<const Piece> pieces() const& { return {pieces_.data(), count_}; }
  // A temporary gives its pieces away, as a range-for does not keep it alive.
  constexpr OwnPieces pieces() && { return {pieces_, count_}; }

  // The first piece, or an empty span. Frame headers always lie in it.
  constexpr Piece front() const { return count_ == 0 ? Piece{} : pieces_[0]; }

  // Bytes [offset, offset + length), clamped to the chain.
  constexpr BasicByteChain slice(std::size_t offset, std::size_t length) const {
    if (count_ == 1 && offset < size_) {
      return pieces_[0].subspan(offset, std::min(length, size_ - offset));
    }
    BasicByteChain out;
    for (const Piece& piece : pieces()) {
      if (length == 0) break;
      if (offset >= piece.size()) {
        offset -= piece.size();
        continue;
      }
      const std::size_t n = std::min(length, piece.size() - offset);
      out.append(piece.subspan(offset, n));
      offset = 0;
      length -= n;
    }
    return out;
  }

  // Copies bytes from `offset` into `out`; returns how many there were.
  std::size_t copy_to(std::size_t offset, ByteSpan out) const {
    std::size_t done = 0;
    const BasicByteChain part = slice(offset, out.size());
    for (const Piece& piece : part.pieces()) {
      std::memcpy(out.data() + done, piece.data(), piece.size());
      done += piece.size();
    }
    return done;
  }

 private:
  std::array<Piece, kMaxPieces> pieces_{};
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

using ByteChain = BasicByteChain<const std::byte>;
using MutableByteChain = BasicByteChain<std::byte>;

// Copies `from` into the front of `to`; returns the number of bytes copied, the lesser size.
std::size_t copy(ByteChain from, MutableByteChain to);

}  // namespace softrnic::wire
