// SPDX-License-Identifier: BSD-3-Clause
// What is remembered of the packets of one direction, found by PSN: the newest kBound of them.
//
// Entries lie in a ring in the order they came; an open-addressing index leads from a PSN to its
// place there. Both grow with use, so that a short connection costs little.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/psn.hpp"

namespace softrnic::analysis {

template <class Entry>  // has a member `wire::Psn psn`
class PsnHistory {
 public:
  static constexpr std::uint32_t kBound = 1 << 16;

  Entry* find(wire::Psn psn) {
    if (index_.empty()) return nullptr;
    for (std::uint32_t i = home(psn);; i = next(i)) {
      if (index_[i] == kFree) return nullptr;
      Entry& entry = entries_[index_[i]];
      if (entry.psn == psn) return &entry;
    }
  }

  // A second entry of one PSN takes the place of the first. Good until the next insert().
  Entry& insert(const Entry& value) {
    if (Entry* known = find(value.psn)) return *known = value;
    if (size_ == entries_.size() && size_ < kBound) grow();
    if (size_ == kBound) {
      erase(entries_[oldest_].psn);
    } else {
      ++size_;
    }
    const std::uint32_t place = oldest_;
    oldest_ = place + 1 == entries_.size() ? 0 : place + 1;
    entries_[place] = value;
    link(place);
    return entries_[place];
  }

  bool empty() const { return size_ == 0; }

  std::size_t memory() const {
    return entries_.capacity() * sizeof(Entry) + index_.capacity() * sizeof(index_[0]);
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;

  // Sixteen neighbouring PSNs share a cache line; READs, whose PSNs lie far apart, are spread.
  static constexpr std::uint32_t kLine = 16;
  std::uint32_t home(wire::Psn psn) const {
    const std::uint32_t hash = psn.value() / kLine * 0x9e3779b1u;
    return static_cast<std::uint32_t>(std::uint64_t{hash} >> shift_) * kLine + psn.value() % kLine;
  }
  std::uint32_t next(std::uint32_t i) const {
    return (i + 1) & static_cast<std::uint32_t>(index_.size() - 1);
  }

  void link(std::uint32_t place) {
    std::uint32_t i = home(entries_[place].psn);
    while (index_[i] != kFree) i = next(i);
    index_[i] = place;
  }

  // Takes a PSN out of the index and closes the hole, so that no search ends too early.
  void erase(wire::Psn psn) {
    std::uint32_t hole = home(psn);
    while (entries_[index_[hole]].psn != psn) hole = next(hole);
    for (std::uint32_t i = next(hole); index_[i] != kFree; i = next(i)) {
      const std::uint32_t wanted = home(entries_[index_[i]].psn);
      const std::uint32_t mask = static_cast<std::uint32_t>(index_.size() - 1);
      if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
      index_[hole] = index_[i];
      hole = i;
    }
    index_[hole] = kFree;
  }

  // Only before the ring has turned round: entries then lie from 0 to size_.
  void grow() {
    oldest_ = size_;
    entries_.resize(entries_.empty() ? kLine / 2 : 2 * entries_.size());
    index_.assign(2 * entries_.size(), kFree);
    shift_ = 32;
    for (std::size_t lines = index_.size() / kLine; lines > 1; lines /= 2) --shift_;
    for (std::uint32_t place = 0; place < size_; ++place) link(place);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;
  std::uint32_t oldest_ = 0;  // where the next entry goes
  std::uint32_t size_ = 0;
  std::uint32_t shift_ = 32;
};

}  // namespace softrnic::analysis
