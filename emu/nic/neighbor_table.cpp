// SPDX-License-Identifier: BSD-3-Clause
#include "nic/neighbor_table.hpp"

#include <algorithm>
#include <cstring>

namespace softrnic::nic {

std::size_t NeighborTable::Hash::operator()(const wire::Gid& gid) const {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, gid.bytes.data(), sizeof(high));
  std::memcpy(&low, gid.bytes.data() + sizeof(high), sizeof(low));
  std::uint64_t h = (high ^ (low + 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
  h ^= h >> 32;
  return h * 0xc4ceb9fe1a85ec53;
}

NeighborTable::Lookup NeighborTable::lookup(wire::Instant now, const wire::Gid& address) {
  auto found = entries_.find(address);
  if (found == entries_.end()) {
    if (entries_.size() >= kMaxEntries && !make_room()) return {State::failed, {}};
    found = entries_.try_emplace(address).first;
    start(found->second, now);
  }
  Entry& entry = found->second;
  if (entry.state == State::failed && now >= entry.due) start(entry, now);
  entry.asked_at = now;
  return {entry.state, entry.mac};
}

std::optional<NeighborTable::Lookup> NeighborTable::find(const wire::Gid& address) const {
  const auto found = entries_.find(address);
  if (found == entries_.end()) return std::nullopt;
  return Lookup{found->second.state, found->second.mac};
}

void NeighborTable::learn(const wire::Gid& address, const wire::MacAddress& mac) {
  if (entries_.find(address) == entries_.end()) {
    if (entries_.size() >= kMaxEntries) return;
    entries_.try_emplace(address);
  }
  update(address, mac);
}

void NeighborTable::update(const wire::Gid& address, const wire::MacAddress& mac) {
  const auto found = entries_.find(address);
  if (found != entries_.end()) set(found->second, mac);
}

std::optional<wire::Gid> NeighborTable::next_probe(wire::Instant now) {
  if (now < next_due_) return std::nullopt;
  for (auto& [address, entry] : entries_) {
    if (entry.state != State::resolving || now < entry.due) continue;
    if (entry.probes_left > 0) {
      --entry.probes_left;
      entry.due = now + kProbeInterval;
      return address;
    }
    entry.state = State::failed;
    entry.due = now + kRetryAfter;
    ++generation_;
  }
  refresh_due();
  return std::nullopt;
}

void NeighborTable::start(Entry& entry, wire::Instant now) {
  entry.state = State::resolving;
  entry.probes_left = kProbes;
  entry.due = now;
  next_due_ = std::min(next_due_, now);
}

void NeighborTable::set(Entry& entry, const wire::MacAddress& mac) {
  if (entry.state == State::reachable && entry.mac == mac) return;
  entry.state = State::reachable;
  entry.mac = mac;
  ++generation_;
}

// What is being resolved stays: it would otherwise begin anew without end.
bool NeighborTable::make_room() {
  const auto worth = [](const Entries::value_type& item) {
    const Entry& entry = item.second;
    const int kind = entry.state == State::failed      ? 0
                     : entry.state == State::resolving ? 3
                     : entry.asked_at                  ? 2
                                                       : 1;
    return std::pair(kind, entry.asked_at.value_or(wire::Instant::min()));
  };
  const auto least =
      std::min_element(entries_.begin(), entries_.end(),
                       [&worth](const auto& a, const auto& b) { return worth(a) < worth(b); });
  if (least->second.state == State::resolving) return false;
  entries_.erase(least);
  return true;
}

void NeighborTable::refresh_due() {
  next_due_ = wire::kNever;
  for (const auto& [address, entry] : entries_) {
    if (entry.state == State::resolving) next_due_ = std::min(next_due_, entry.due);
  }
}

}  // namespace softrnic::nic
