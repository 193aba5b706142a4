// SPDX-License-Identifier: BSD-3-Clause
#include "replay/key_map.hpp"

#include <algorithm>

namespace softrnic::replay {

KeyMap KeyMap::into_region(const RecordedMemory& memory, std::uint32_t key, std::uint64_t address) {
  KeyMap map;
  for (const RecordedRange& range : memory.ranges()) {
    map.add(range.key, range.begin, range.size(), {key, address + range.offset});
  }
  return map;
}

void KeyMap::add(std::uint32_t key, std::uint64_t begin, std::uint64_t size, RemotePlace live) {
  entries_.insert(entries_.begin(), {key, begin, size, live});
}

bool KeyMap::maps(std::uint32_t key) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.key == key; });
}

RemotePlace KeyMap::place(std::uint32_t key, std::uint64_t address) const {
  for (const Entry& entry : entries_) {
    if (entry.key != key || address < entry.begin) continue;
    const std::uint64_t offset = address - entry.begin;
    if (entry.size == 0 || offset < entry.size) {
      return {entry.live.key, entry.live.address + offset};
    }
  }
  return {key, address};
}

}  // namespace softrnic::replay
