// SPDX-License-Identifier: BSD-3-Clause
// Where captured keys and addresses are at the live peer.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "replay/recorded_memory.hpp"

namespace softrnic::replay {

struct RemotePlace {
  std::uint32_t key = 0;
  std::uint64_t address = 0;
};

class KeyMap {
 public:
  // Everything as captured: the peer has the captured keys.
  KeyMap() = default;
  // Everything in one region of the peer, laid out as the image is.
  static KeyMap into_region(const RecordedMemory& memory, std::uint32_t key, std::uint64_t address);

  // Captured addresses from `begin` on, `size` bytes (0: to the end), through `key`. The latest
  // added that holds a place counts.
  void add(std::uint32_t key, std::uint64_t begin, std::uint64_t size, RemotePlace live);

  bool maps(std::uint32_t key) const;
  // What is not mapped stays as captured.
  RemotePlace place(std::uint32_t key, std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    RemotePlace live;
  };
  std::unordered_map<std::uint32_t, std::vector<Entry>> entries_;  // by captured key
};

}  // namespace softrnic::replay
