// SPDX-License-Identifier: BSD-3-Clause
// A frame in a link's buffers: up to three segments, with the metadata the wire does not carry.
//
// The link owns the memory; a Frame* is a loan. Transmit: tx_alloc() lends an empty frame with
// kHeadroom bytes free in front; the payload is laid first, the headers are prepended, the ICRC is
// appended; tx_push() gives it back. Receive: rx_burst() lends frames, rx_release() ends the loan.
// All headers lie in the first segment. Not thread-safe; one thread at a time per link.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "wire/address_vector.hpp"
#include "wire/byte_chain.hpp"
#include "wire/instant.hpp"

namespace softrnic::link {

class Frame {
 public:
  static constexpr std::size_t kMaxSegments = wire::ByteChain::kMaxPieces;

  // A piece of link memory: `base` to `base + capacity`, of which `length` bytes from `offset`
  // on are frame bytes.
  struct Segment {
    std::byte* base = nullptr;
    std::uint32_t capacity = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };

  // --- set up by the link ---

  // Empties the frame and leaves `headroom` bytes free before the first segment's data.
  void reset(std::uint32_t headroom = wire::kHeadroom);
  // Declares the buffers of an empty frame; segments beyond the first start at their base.
  void set_segment(std::size_t index, std::byte* base, std::uint32_t capacity);
  // Received bytes: segment `index` holds `length` bytes from `offset`.
  void set_received(std::size_t index, std::byte* base, std::uint32_t capacity,
                    std::uint32_t offset, std::uint32_t length);

  // --- building ---

  // Makes room for `n` more bytes at the end, across segments, and returns it; shorter than `n`
  // only if the frame's buffers are too small.
  wire::MutableByteChain append(std::size_t n);
  // Makes room for `n` bytes in front; an empty span when the headroom is used up.
  wire::ByteSpan prepend(std::size_t n);

  // --- reading ---

  std::size_t size() const;
  wire::ByteChain bytes() const;
  wire::MutableByteChain mutable_bytes();
  std::span<const Segment> segments() const { return {segments_.data(), count_}; }

  // When the link received it (as passed to rx_burst).
  wire::Instant received_at{};
  // What was done to the frame on purpose, for the capture's comment ("corrupt icrc: rule 2");
  // empty for an untouched frame. A string only so that faults may speak; never set on the fast
  // path.
  std::string note;
  // Its IPv4 identification did not come with it: the header has the one that makes the ICRC right.
  bool identification_inferred = false;
  // The link's own handle on the buffers.
  std::uint64_t handle = 0;

 private:
  std::array<Segment, kMaxSegments> segments_{};
  std::uint32_t count_ = 0;   // segments that have buffers
  std::uint32_t filled_ = 0;  // index of the segment that append() continues in
};

}  // namespace softrnic::link
