// SPDX-License-Identifier: BSD-3-Clause
// The captured responder's registered memory, as far as the capture shows it: which ranges its
// keys opened, for which access, and which bytes stood in them at what time.
//
// Contents come from the requests themselves as the emulated responder executes them, and, for
// bytes nothing has told yet, from the captured answers just before they are needed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/memory_gate.hpp"
#include "wire/bytes.hpp"

namespace softrnic::offline_replay {

// Zeroed memory that costs nothing until it is touched.
class SparseMemory {
 public:
  // The first byte's address is congruent to `like` modulo the page size, as an atomic's alignment
  // needs. Null data() when the system refuses.
  SparseMemory(std::uint64_t like, std::uint64_t size);
  ~SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  void* map_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
};

// One contiguous range opened by one key.
struct MemoryRange {
  std::uint32_t key = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;     // exclusive
  std::uint32_t access = 0;  // OR of transport::Access, as the captured peer granted it
  std::size_t domain = 0;    // index of the protection domain
  std::unique_ptr<SparseMemory> memory;

  std::byte* at(std::uint64_t address) const { return memory->data() + (address - begin); }
  bool holds(std::uint64_t address, std::uint64_t length) const {
    return address >= begin && length <= end - begin && address - begin <= end - begin - length;
  }

  // Bytes whose value is known, by first address: where the run ends, and since which frame.
  struct Known {
    std::uint64_t end = 0;
    std::uint32_t frame = 0;
  };
  std::map<std::uint64_t, Known> known;

  void learn(std::uint64_t address, std::uint64_t length, std::uint32_t frame);
  void forget(std::uint64_t address, std::uint64_t length);
};

// An access through a key that the captured peer granted or refused.
struct KeyUse {
  std::size_t user = 0;  // the conversation
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  transport::Access access{};
};

// Bytes [begin, end).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// What of [0, size) lies outside `ranges`, which are in order and do not overlap.
std::vector<ByteRange> parts_outside(const std::vector<ByteRange>& ranges, std::uint64_t size);

// Bytes that a request changes when it executes.
struct MemoryChange {
  std::uint32_t frame = 0;
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
};

struct MemoryMismatch {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t known_since = 0;  // frame
};

class CapturedMemory {
 public:
  // Granted uses, before anything else. Keys used together, by one conversation, are of one
  // protection domain, and so are conversations that use one key.
  void grant(const KeyUse& use);
  // Makes the ranges; the reason when there is no memory for them. `users`: conversations.
  std::optional<std::string> build(std::size_t users);

  std::size_t domain_of(std::size_t user) const { return user_domains_[user]; }
  std::size_t domains() const { return domains_; }
  // The range that contains all of it, or, when none does, null.
  MemoryRange* find(std::uint32_t key, std::uint64_t address, std::uint64_t length);
  bool is_used(std::uint32_t key) const { return ranges_.count(key) != 0; }
  // Whether the primed memory would grant this.
  bool would_grant(const KeyUse& use);

  // When the captured host's own program was seen at work: it sent something, or was sent a
  // message. In the order of frames.
  void note_activity(std::uint32_t frame) { activity_.push_back(frame); }

  // What a captured answer shows of memory: unknown bytes are taken over. Known bytes that differ
  // are taken over, too, and appended to `changed`, when the host's program may have changed them
  // since; otherwise they stay, and the answers will differ.
  void show(MemoryRange& range, std::uint64_t address, wire::ByteView bytes, std::uint32_t frame,
            std::vector<MemoryMismatch>& changed);
  // All changes that requests make, before anything is shown; in any order.
  void set_changes(std::vector<MemoryChange> changes);
  // The parts of [address, address + length) that requests captured after frame `after` and before
  // frame `before` change through this key, in order and without overlap.
  std::vector<ByteRange> changed_between(std::uint32_t key, std::uint64_t address,
                                         std::uint64_t length, std::uint32_t after,
                                         std::uint32_t before) const;
  // The same for an answer of uncertain time: only unknown bytes are taken over.
  void hint(MemoryRange& range, std::uint64_t address, wire::ByteView bytes, std::uint32_t frame);

 private:
  // Calls visit(begin, end, run) for each part of the addresses that is known, with its run, or
  // unknown, with null.
  template <class Visit>
  static void for_each_part(const MemoryRange& range, std::uint64_t address, std::uint64_t length,
                            Visit visit);
  bool active_between(std::uint32_t after, std::uint32_t before) const;
  bool aliased(const MemoryRange& range, std::uint64_t address, wire::ByteView bytes) const;
  std::size_t root(std::size_t node);

  std::vector<KeyUse> uses_;
  std::map<std::uint32_t, std::vector<std::unique_ptr<MemoryRange>>> ranges_;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> user_domains_;
  std::size_t domains_ = 0;
  std::vector<std::uint32_t> activity_;
  std::vector<MemoryChange> changes_;  // by frame
};

}  // namespace softrnic::offline_replay
