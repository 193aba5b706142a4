// SPDX-License-Identifier: BSD-3-Clause
#include "replay/key_map.hpp"

namespace softrnic::replay {

KeyMap KeyMap::into_region(const RecordedMemory& memory, std::uint32_t key, std::uint64_t address) {
  KeyMap map;
  for (const RecordedRange& range : memory.ranges()) {
    map.add(range.key, range.begin, range.size(), {key, address + range.offset});
  }
  return map;
}

void KeyMap::add(std::uint32_t key, std::uint64_t begin, std::uint64_t size, RemotePlace live) {
  entries_[key].push_back({begin, size, live});
}

bool KeyMap::maps(std::uint32_t key) const {
  return entries_.count(key) != 0;
}

RemotePlace KeyMap::place(std::uint32_t key, std::uint64_t address) const {
  const auto of_key = entries_.find(key);
  if (of_key == entries_.end()) return {key, address};
  for (auto entry = of_key->second.rbegin(); entry != of_key->second.rend(); ++entry) {
    const std::uint64_t offset = address - entry->begin;
    if (address >= entry->begin && (entry->size == 0 || offset < entry->size)) {
      return {entry->live.key, entry->live.address + offset};
    }
  }
  return {key, address};
}

}  // namespace softrnic::replay
