// SPDX-License-Identifier: BSD-3-Clause
// What is remembered of the packets of one direction, found by PSN: the newest kBound of them, or
// fewer where the oldest are taken out.
//
// Entries lie in a ring in the order they came; an open-addressing index leads from a PSN to its
// place there. Both grow and shrink with use, and a few entries need no index, so that a short
// connection costs little.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "analysis/block_pool.hpp"
#include "wire/psn.hpp"

namespace softrnic::analysis {

template <class Entry>  // has a member `wire::Psn psn`
class PsnHistory {
 public:
  static constexpr std::uint32_t kBound = (1 << 16) - 1;

  Entry* find(wire::Psn psn) {
    const std::uint32_t* const index = this->index();
    if (index == nullptr) return scan(psn);
    for (std::uint32_t i = home(psn);; i = next(i)) {
      if (index[i] == kFree) return nullptr;
      Entry& entry = entries_[index[i]];
      if (entry.psn == psn) return &entry;
    }
  }

  // A second entry of one PSN takes the place of the first. Good until the next insert(). An entry
  // that gives way is told to `drop` before.
  template <class Drop>
  Entry& insert(const Entry& value, Drop drop) {
    if (Entry* known = find(value.psn)) {
      drop(*known);
      return *known = value;
    }
    if (size_ == kBound) {
      drop(front());
      pop_front();
    } else if (size_ == room()) {
      resize(2u * size_);
    }
    const std::uint32_t place = place_of(size_++);
    entries_[place] = value;
    if (has_index()) link(place);
    ++inserted_;
    return entries_[place];
  }
  Entry& insert(const Entry& value) {
    return insert(value, [](Entry&) {});
  }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  Entry& front() { return entries_[head_]; }  // the oldest
  Entry& at(std::uint32_t i) { return entries_[place_of(i)]; }

  void pop_front() {
    if (has_index()) erase(entries_[head_].psn);
    head_ = static_cast<std::uint16_t>(place_of(1));
    --size_;
    if (room() > kFewest && size_ * 4u <= room()) resize(2u * size_);
  }

  // The oldest will be looked at soon.
  void prefetch() const {
    if (size_ != 0) __builtin_prefetch(&entries_[head_]);
  }

  // Gives back what is not used, where nothing is likely to come soon.
  void trim() {
    std::uint32_t room = kFewest;
    while (room < size_) room *= 2;
    if (room < this->room()) resize(room);
  }

  // Entries that were added since this was asked last.
  std::uint32_t take_inserted() { return std::exchange(inserted_, std::uint16_t{0}); }

  std::size_t memory() const {
    return room() * sizeof(Entry) + (has_index() ? index_size() * sizeof(std::uint32_t) : 0);
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;
  static constexpr std::uint32_t kFewest = 1;
  static constexpr std::uint32_t kScanned = 8;  // so many are looked through without an index

  Entry* scan(wire::Psn psn) {
    for (std::uint32_t i = size_; i-- > 0;) {
      Entry& entry = entries_[place_of(i)];
      if (entry.psn == psn) return &entry;
    }
    return nullptr;
  }

  std::uint32_t room() const { return (1u << room_bits_) >> 1; }
  std::uint32_t place_of(std::uint32_t i) const { return (head_ + i) & (room() - 1); }

  // Sixteen neighbouring PSNs share a cache line; READs, whose PSNs lie far apart, are spread.
  static constexpr std::uint32_t kLine = 16;
  std::uint32_t home(wire::Psn psn) const {
    const std::uint32_t hash = psn.value() / kLine * 0x9e3779b1u;
    // The hash's upper bits choose the line.
    return static_cast<std::uint32_t>(std::uint64_t{hash} * (index_size() / kLine) >> 32) * kLine +
           psn.value() % kLine;
  }
  std::uint32_t next(std::uint32_t i) const { return (i + 1) & (index_size() - 1); }

  void link(std::uint32_t place) {
    std::uint32_t* const index = this->index();
    std::uint32_t i = home(entries_[place].psn);
    while (index[i] != kFree) i = next(i);
    index[i] = place;
  }

  // Takes a PSN out of the index and closes the hole, so that no search ends too early.
  void erase(wire::Psn psn) {
    std::uint32_t* const index = this->index();
    std::uint32_t hole = home(psn);
    while (entries_[index[hole]].psn != psn) hole = next(hole);
    for (std::uint32_t i = next(hole); index[i] != kFree; i = next(i)) {
      const std::uint32_t wanted = home(entries_[index[i]].psn);
      const std::uint32_t mask = index_size() - 1;
      if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
      index[hole] = index[i];
      hole = i;
    }
    index[hole] = kFree;
  }

  // Room for a power of two of entries, at least for those there.
  void resize(std::uint32_t room) {
    std::uint32_t capacity = kFewest;
    while (capacity < room) capacity *= 2;
    PoolArray<Entry> entries = make_entries(capacity);
    for (std::uint32_t i = 0; i < size_; ++i) entries[i] = at(i);
    entries_ = std::move(entries);
    room_bits_ = static_cast<std::uint8_t>(std::bit_width(capacity));
    head_ = 0;
    if (!has_index()) return;
    std::uninitialized_fill_n(index(), index_size(), kFree);
    for (std::uint32_t place = 0; place < size_; ++place) link(place);
  }

  // The index, where there is one, lies behind the entries in the same block.
  static_assert(alignof(Entry) >= alignof(std::uint32_t));
  static PoolArray<Entry> make_entries(std::uint32_t room) {
    const std::size_t index = room > kScanned ? 2 * sizeof(std::uint32_t) : 0;
    auto* const entries = static_cast<Entry*>(BlockPool::allocate(room * (sizeof(Entry) + index)));
    std::uninitialized_value_construct_n(entries, room);
    return PoolArray<Entry>(entries);
  }
  bool has_index() const { return room() > kScanned; }
  std::uint32_t* index() const {
    return has_index() ? reinterpret_cast<std::uint32_t*>(entries_.get() + room()) : nullptr;
  }
  std::uint32_t index_size() const { return 2 * room(); }

  PoolArray<Entry> entries_;
  std::uint16_t head_ = 0;  // where the oldest lies
  std::uint16_t size_ = 0;
  std::uint16_t inserted_ = 0;
  std::uint8_t room_bits_ = 0;  // its width as a number; 0: there is no room
};

}  // namespace softrnic::analysis
