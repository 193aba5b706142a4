// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/payload_log.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace softrnic::dissector {

void PayloadLog::reset(std::uint64_t capacity, std::uint32_t largest_message) {
  *this = PayloadLog();
  // One more, as the segment being written holds nothing of what was overwritten for it.
  segment_limit_ =
      capacity == 0 ? 0 : static_cast<std::size_t>((capacity + kSegment - 1) / kSegment) + 1;
  largest_message_ = largest_message;
}

void PayloadLog::add(const Packet& packet) {
  const PayloadPiece& piece = packet.piece;
  Chain& chain = chain_of(packet.message);
  const bool first = chain.first_frame == 0 || chain.first_frame == piece.frame;
  if (packet.ends_message && chain.end_frame == 0) {
    chain.end_frame = piece.frame;
    chain.size = packet.bytes_to_its_end;
  }
  if (chain.complete && held(chain.oldest)) return;

  if (first) {
    chain.first_frame = piece.frame;
    chain.oldest = chain.newest = kNowhere;
    chain.last_frame = 0;
    chain.bytes = 0;
    chain.complete = false;
  } else if (piece.frame <= chain.last_frame || !held(chain.oldest)) {
    return;  // looked at out of order, or its beginning is overwritten
  }
  chain.too_large = chain.too_large || packet.message_size > largest_message_ ||
                    std::uint64_t{piece.offset} + piece.bytes.size() > largest_message_;
  chain.cut_short = chain.cut_short || packet.cut_short;
  if (chain.too_large || chain.cut_short) return;

  append(chain, piece);
  chain.complete = packet.ends_message && chain.bytes == packet.bytes_to_its_end;
}

KeptMessage PayloadLog::state(std::uint32_t message) const {
  const Chain* chain = find(message);
  if (chain == nullptr) return KeptMessage::unknown;
  if (chain->too_large) return KeptMessage::too_large;
  if (chain->cut_short) return KeptMessage::cut_short;
  if (chain->complete && held(chain->oldest)) return KeptMessage::whole;
  return chain->end_frame != 0 ? KeptMessage::dropped : KeptMessage::open;
}

std::uint32_t PayloadLog::end_frame(std::uint32_t message) const {
  const Chain* chain = find(message);
  return chain == nullptr ? 0 : chain->end_frame;
}

std::uint32_t PayloadLog::size(std::uint32_t message) const {
  const Chain* chain = find(message);
  return chain == nullptr ? 0 : chain->size;
}

std::vector<PayloadPiece> PayloadLog::pieces(std::uint32_t message) const {
  std::vector<PayloadPiece> pieces;
  if (state(message) != KeptMessage::whole) return pieces;
  const Chain& chain = *find(message);
  Record record;
  for (std::uint64_t position = chain.newest; position != kNowhere; position = record.previous) {
    const std::byte* place = at(position);
    std::memcpy(&record, place, sizeof record);
    pieces.push_back({record.frame, record.offset, {place + sizeof record, record.length}});
  }
  std::ranges::sort(pieces, {}, &PayloadPiece::offset);
  std::uint64_t expected = 0;
  for (const PayloadPiece& piece : pieces) {
    if (piece.offset != expected) return {};
    expected += piece.bytes.size();
  }
  return pieces;
}

std::size_t PayloadLog::memory() const {
  return segments_.size() * kSegment + segments_.capacity() * sizeof(segments_[0]) +
         chain_index_.capacity() * sizeof(chain_index_[0]) + chains_.capacity() * sizeof(Chain);
}

PayloadLog::Chain& PayloadLog::chain_of(std::uint32_t message) {
  if (message >= chain_index_.size()) {
    // Grown in steps: messages come in the order of their indices.
    chain_index_.resize(std::max<std::size_t>(message + std::size_t{1}, chain_index_.size() * 2));
  }
  std::uint32_t& index = chain_index_[message];
  if (index == 0) {
    chains_.emplace_back();
    index = static_cast<std::uint32_t>(chains_.size());
  }
  return chains_[index - 1];
}

const PayloadLog::Chain* PayloadLog::find(std::uint32_t message) const {
  if (message >= chain_index_.size() || chain_index_[message] == 0) return nullptr;
  return &chains_[chain_index_[message] - 1];
}

// The segment of the end and the segment_limit_ - 1 before it are there.
bool PayloadLog::held(std::uint64_t position) const {
  return position != kNowhere && position / kSegment + segment_limit_ > end_ / kSegment;
}

std::byte* PayloadLog::at(std::uint64_t position) const {
  return segments_[(position / kSegment) % segment_limit_].get() + position % kSegment;
}

PayloadLog::Segment PayloadLog::allocate() {
  Segment segment(static_cast<std::byte*>(std::aligned_alloc(kSegment, kSegment)));
  if (segment == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(segment.get(), kSegment, MADV_HUGEPAGE);  // where it is not to be had, all works as well
#endif
  return segment;
}

void PayloadLog::append(Chain& chain, const PayloadPiece& piece) {
  const std::size_t needed = (sizeof(Record) + piece.bytes.size() + alignof(Record) - 1) /
                             alignof(Record) * alignof(Record);
  if (needed > kSegment || segment_limit_ == 0) {
    chain.too_large = true;
    return;
  }
  if (end_ % kSegment + needed > kSegment) end_ = (end_ / kSegment + 1) * kSegment;
  const std::size_t slot = (end_ / kSegment) % segment_limit_;
  while (slot >= segments_.size()) {
    segments_.push_back(allocate());
  }

  const Record record{chain.newest, piece.frame, piece.offset,
                      static_cast<std::uint32_t>(piece.bytes.size())};
  std::byte* place = at(end_);
  std::memcpy(place, &record, sizeof record);
  if (!piece.bytes.empty()) {
    std::memcpy(place + sizeof record, piece.bytes.data(), piece.bytes.size());
  }
  chain.newest = end_;
  if (chain.oldest == kNowhere) chain.oldest = end_;
  chain.last_frame = piece.frame;
  chain.bytes += record.length;
  end_ += needed;
}

}  // namespace softrnic::dissector
