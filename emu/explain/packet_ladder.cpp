// SPDX-License-Identifier: BSD-3-Clause
#include "explain/packet_ladder.hpp"

#include <algorithm>

namespace softrnic::explain {

void PacketLadder::add(const LadderPacket& packet) {
  if (seen_ < keep_until_) kept_.push_back({seen_, packet});
  newest_[seen_ % kBefore] = packet;
  ++seen_;
}

bool PacketLadder::is_in_passage(std::uint64_t number) const {
  return number < kBeginning ||
         std::any_of(passages_.begin(), passages_.end(),
                     [=](const Passage& p) { return p.from <= number && number < p.until; });
}

// Lets the least grave passage go, if this one is graver.
bool PacketLadder::make_room(std::uint64_t gravity) {
  if (passages_.size() < kMostPassages) return true;
  const auto least =
      std::min_element(passages_.begin(), passages_.end(),
                       [](const Passage& a, const Passage& b) { return a.gravity < b.gravity; });
  if (least->gravity >= gravity) return false;
  passages_.erase(least);
  std::erase_if(kept_, [&](const Kept& kept) { return !is_in_passage(kept.number); });
  return true;
}

void PacketLadder::keep_here(std::uint64_t gravity) {
  if (seen_ == 0) return;
  // What is still being kept goes on.
  if (!passages_.empty() && seen_ <= passages_.back().until) {
    Passage& last = passages_.back();
    last.gravity = std::max(last.gravity, gravity);
    if (seen_ - last.from < kLongest) last.until = keep_until_ = seen_ + kAfter;
    return;
  }
  if (!make_room(gravity)) return;
  std::uint64_t from = seen_ < kBefore ? 0 : seen_ - kBefore;
  passages_.push_back({from, seen_ + kAfter, gravity});
  keep_until_ = std::max(keep_until_, seen_ + kAfter);
  if (!kept_.empty() && kept_.back().number >= from) from = kept_.back().number + 1;
  for (; from < seen_; ++from) kept_.push_back({from, newest_[from % kBefore]});
}

PacketLadder::Packets PacketLadder::packets() const {
  Packets all;
  std::uint64_t expected = 0;
  for (const Kept& kept : kept_) {
    all.packets.push_back(kept.packet);
    all.gaps.push_back(kept.number - expected);
    expected = kept.number + 1;
  }
  all.left_out_at_end = seen_ - expected;
  return all;
}

}  // namespace softrnic::explain
