// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/captured_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace softrnic::offline_replay {
namespace {

constexpr std::uint64_t kPage = 4096;
// Ranges of one key that lie closer than this are one region; a key that was given to another
// region later mostly names memory far away.
constexpr std::uint64_t kSameRegion = std::uint64_t{1} << 30;
// More address space than this for one region is not emulated.
constexpr std::uint64_t kLargestRange = std::uint64_t{1} << 42;

}  // namespace

SparseMemory::SparseMemory(std::uint64_t like, std::uint64_t size) {
  mapped_ = static_cast<std::size_t>(size + 2 * kPage) & ~static_cast<std::size_t>(kPage - 1);
  map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    return;
  }
  data_ = static_cast<std::byte*>(map_) + like % kPage;
}

SparseMemory::~SparseMemory() {
  if (map_ != nullptr) munmap(map_, mapped_);
}

void MemoryRange::learn(std::uint64_t address, std::uint64_t length, std::uint32_t frame) {
  if (length == 0) return;
  forget(address, length);
  known[address] = {address + length, frame};
}

void MemoryRange::forget(std::uint64_t address, std::uint64_t length) {
  if (length == 0) return;
  const std::uint64_t last = address + length;
  auto run = known.upper_bound(address);
  if (run != known.begin()) --run;
  while (run != known.end() && run->first < last) {
    const std::uint64_t run_begin = run->first;
    const Known run_known = run->second;
    if (run_known.end <= address) {
      ++run;
      continue;
    }
    run = known.erase(run);
    if (run_begin < address) known[run_begin] = {address, run_known.frame};
    if (run_known.end > last) {
      known[last] = run_known;
      return;
    }
  }
}

std::vector<ByteRange> parts_outside(const std::vector<ByteRange>& ranges, std::uint64_t size) {
  std::vector<ByteRange> parts;
  std::uint64_t at = 0;
  for (const ByteRange& range : ranges) {
    if (range.begin >= size) break;
    if (at < range.begin) parts.push_back({at, range.begin});
    at = range.end;
  }
  if (at < size) parts.push_back({at, size});
  return parts;
}

void CapturedMemory::grant(const KeyUse& use) {
  if (use.length == 0 || use.length > kLargestRange || use.address > ~use.length) return;
  uses_.push_back(use);
}

std::size_t CapturedMemory::root(std::size_t node) {
  while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
  return node;
}

std::optional<std::string> CapturedMemory::build(std::size_t users) {
  // Users and keys that were used together: nodes 0 to users - 1, then one for each key.
  std::map<std::uint32_t, std::size_t> key_nodes;
  for (const KeyUse& use : uses_) key_nodes.try_emplace(use.key, users + key_nodes.size());
  parents_.resize(users + key_nodes.size());
  std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  for (const KeyUse& use : uses_) parents_[root(use.user)] = root(key_nodes[use.key]);

  std::map<std::size_t, std::size_t> domain_of_root;
  const auto domain_of_node = [&](std::size_t node) {
    return domain_of_root.try_emplace(root(node), domain_of_root.size()).first->second;
  };
  for (std::size_t user = 0; user < users; ++user) user_domains_.push_back(domain_of_node(user));

  std::sort(uses_.begin(), uses_.end(), [](const KeyUse& a, const KeyUse& b) {
    return a.key != b.key ? a.key < b.key : a.address < b.address;
  });
  for (const KeyUse& use : uses_) {
    auto& list = ranges_[use.key];
    const std::uint64_t end = use.address + use.length;
    if (list.empty() ||
        (use.address > list.back()->end && use.address - list.back()->end > kSameRegion)) {
      auto range = std::make_unique<MemoryRange>();
      range->key = use.key;
      range->begin = use.address;
      range->end = end;
      range->domain = domain_of_node(key_nodes[use.key]);
      list.push_back(std::move(range));
    }
    list.back()->end = std::max(list.back()->end, end);
    list.back()->access |= use.access;
  }
  domains_ = domain_of_root.size();

  for (auto& [key, list] : ranges_) {
    for (auto& range : list) {
      const std::uint64_t size = range->end - range->begin;
      if (size <= kLargestRange) range->memory = std::make_unique<SparseMemory>(range->begin, size);
      if (range->memory == nullptr || range->memory->data() == nullptr) {
        return fmt::format("cannot emulate the region of R_Key {:#010x}: {} bytes from {:#x}", key,
                           size, range->begin);
      }
    }
  }
  return std::nullopt;
}

MemoryRange* CapturedMemory::find(std::uint32_t key, std::uint64_t address, std::uint64_t length) {
  const auto list = ranges_.find(key);
  if (list == ranges_.end()) return nullptr;
  for (const auto& range : list->second) {
    if (range->holds(address, length)) return range.get();
  }
  return nullptr;
}

bool CapturedMemory::would_grant(const KeyUse& use) {
  const MemoryRange* range = find(use.key, use.address, use.length);
  return range != nullptr && (range->access & use.access) != 0 &&
         range->domain == domain_of(use.user);
}

bool CapturedMemory::active_between(std::uint32_t after, std::uint32_t before) const {
  const auto next = std::upper_bound(activity_.begin(), activity_.end(), after);
  return next != activity_.end() && *next < before;
}

// The same memory may be open through another key: then that key's writes explain the bytes.
bool CapturedMemory::aliased(const MemoryRange& range, std::uint64_t address,
                             wire::ByteView bytes) const {
  for (const auto& [key, list] : ranges_) {
    if (key == range.key) continue;
    for (const auto& other : list) {
      if (other->domain != range.domain || !other->holds(address, bytes.size())) continue;
      if (std::memcmp(other->at(address), bytes.data(), bytes.size()) == 0) return true;
    }
  }
  return false;
}

void CapturedMemory::set_changes(std::vector<MemoryChange> changes) {
  changes_ = std::move(changes);
  std::sort(changes_.begin(), changes_.end(),
            [](const MemoryChange& a, const MemoryChange& b) { return a.frame < b.frame; });
}

std::vector<ByteRange> CapturedMemory::changed_between(std::uint32_t key, std::uint64_t address,
                                                       std::uint64_t length, std::uint32_t after,
                                                       std::uint32_t before) const {
  std::vector<ByteRange> parts;
  auto change =
      std::upper_bound(changes_.begin(), changes_.end(), after,
                       [](std::uint32_t frame, const MemoryChange& c) { return frame < c.frame; });
  for (; change != changes_.end() && change->frame < before; ++change) {
    const ByteRange part{std::max(address, change->address),
                         std::min(address + length, change->address + change->length)};
    if (change->key == key && part.begin < part.end) parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> merged;
  for (const ByteRange& part : parts) {
    if (!merged.empty() && part.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, part.end);
    } else {
      merged.push_back(part);
    }
  }
  return merged;
}

template <class Visit>
void CapturedMemory::for_each_part(const MemoryRange& range, std::uint64_t address,
                                   std::uint64_t length, Visit visit) {
  const std::uint64_t last = address + length;
  auto run = range.known.upper_bound(address);
  if (run != range.known.begin() && std::prev(run)->second.end > address) --run;
  for (std::uint64_t at = address; at < last;) {
    if (run == range.known.end() || run->first >= last) return visit(at, last, nullptr);
    if (run->first > at) visit(at, run->first, nullptr);
    const std::uint64_t begin = std::max(at, run->first);
    at = std::min(last, run->second.end);
    visit(begin, at, &run->second);
    ++run;
  }
}

void CapturedMemory::show(MemoryRange& range, std::uint64_t address, wire::ByteView bytes,
                          std::uint32_t frame, std::vector<MemoryMismatch>& changed) {
  if (!range.holds(address, bytes.size())) return;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> learned;
  const auto visit = [&](std::uint64_t begin, std::uint64_t end, const MemoryRange::Known* run) {
    const wire::ByteView part = bytes.subspan(begin - address, end - begin);
    if (run != nullptr && std::memcmp(range.at(begin), part.data(), part.size()) != 0) {
      if (active_between(run->frame, frame)) {
        changed.push_back({begin, end - begin, run->frame});
      } else if (!aliased(range, begin, part)) {
        return;
      }
    }
    std::memcpy(range.at(begin), part.data(), part.size());
    learned.emplace_back(begin, end);
  };
  for_each_part(range, address, bytes.size(), visit);
  for (const auto& [begin, end] : learned) range.learn(begin, end - begin, frame);
}

void CapturedMemory::hint(MemoryRange& range, std::uint64_t address, wire::ByteView bytes,
                          std::uint32_t frame) {
  if (!range.holds(address, bytes.size())) return;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> unknown;
  for_each_part(range, address, bytes.size(),
                [&](std::uint64_t begin, std::uint64_t end, const MemoryRange::Known* run) {
                  if (run == nullptr) unknown.emplace_back(begin, end);
                });
  for (const auto& [begin, end] : unknown) {
    std::memcpy(range.at(begin), bytes.data() + (begin - address), end - begin);
    range.learn(begin, end - begin, frame);
  }
}

}  // namespace softrnic::offline_replay
