// SPDX-License-Identifier: GPL-2.0-or-later
// The payload of messages of more than one packet, kept from one packet to the next so that a
// message can be shown in one piece.
//
// A log of bounded size: what is newest is kept, what is oldest is overwritten, whatever message it
// belongs to. A capture read again in order fills it again, so that even with a small log each
// message is there when its last packet is looked at. Adding a packet costs one copy and no search;
// its pieces are put together only when somebody wants to see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace softrnic::dissector {

struct PayloadPiece {
  std::uint32_t frame = 0;
  std::uint32_t offset = 0;  // in the message
  std::span<const std::byte> bytes;
};

enum class KeptMessage : std::uint8_t {
  unknown,    // nothing of it was added
  open,       // more is to come, or the capture lacks a packet
  whole,      // every byte is there
  too_large,  // larger than the largest message to keep
  cut_short,  // a packet was captured only in part
  dropped,    // it was whole once; newer payload took its place
};

class PayloadLog {
 public:
  // At most `capacity` bytes for all messages, `largest_message` for one. Forgets everything.
  void reset(std::uint64_t capacity, std::uint32_t largest_message);

  struct Packet {
    std::uint32_t message = 0;  // index
    PayloadPiece piece;
    bool cut_short = false;              // the piece is not all of the packet's payload
    bool ends_message = false;           // nothing is missing after it
    std::uint32_t message_size = 0;      // bytes announced, or 0: not known yet
    std::uint32_t bytes_to_its_end = 0;  // of a packet that ends its message: bytes it has in all
  };

  // To be called for each packet of such a message on every visit; not for repetitions.
  void add(const Packet& packet);

  KeptMessage state(std::uint32_t message) const;
  // The frame that ended it; 0: none did so far.
  std::uint32_t end_frame(std::uint32_t message) const;
  std::uint32_t size(std::uint32_t message) const;

  // Of a whole message, ordered by offset, with neither gap nor overlap; empty for any other.
  // The pieces are good until the next add().
  std::vector<PayloadPiece> pieces(std::uint32_t message) const;

  // Bytes allocated.
  std::size_t memory() const;

 private:
  // As large as a large page, for which the system does a small one's work.
  static constexpr std::size_t kSegment = std::size_t{1} << 21;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  struct Record {
    std::uint64_t previous;  // of the same message, or kNowhere
    std::uint32_t frame;
    std::uint32_t offset;
    std::uint32_t length;
  };

  // One message. Positions count all bytes ever added; those that lie too far back are overwritten.
  struct Chain {
    std::uint64_t oldest = kNowhere;
    std::uint64_t newest = kNowhere;
    std::uint32_t first_frame = 0;
    std::uint32_t last_frame = 0;
    std::uint32_t bytes = 0;
    std::uint32_t end_frame = 0;
    std::uint32_t size = 0;
    bool complete = false;
    bool too_large = false;
    bool cut_short = false;
  };

  Chain& chain_of(std::uint32_t message);
  const Chain* find(std::uint32_t message) const;
  bool held(std::uint64_t position) const;
  void append(Chain& chain, const PayloadPiece& piece);
  std::byte* at(std::uint64_t position) const;

  std::size_t segment_limit_ = 0;
  std::uint32_t largest_message_ = 0;
  std::uint64_t end_ = 0;  // where the next record goes
  struct Free {
    void operator()(std::byte* segment) const { std::free(segment); }
  };
  using Segment = std::unique_ptr<std::byte[], Free>;
  static Segment allocate();

  std::vector<Segment> segments_;
  std::vector<std::uint32_t> chain_index_;  // by message; 0: none, else index + 1
  std::vector<Chain> chains_;
};

}  // namespace softrnic::dissector
