// SPDX-License-Identifier: BSD-3-Clause
// Memory extents: what can be read and written with an R_Key at a host, as far as requests that
// succeeded show it; and from that, why a request was refused.
//
// Of each key the hull of all successful places is kept, apart for reading and for writing: a
// region is one range, so what lies between two places that worked is inside it as well. Holds a
// bounded number of keys; the one unused for longest of its set makes room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/finding.hpp"
#include "analysis/message.hpp"
#include "wire/gid.hpp"

namespace softrnic::analysis {

class MemoryExtent {
 public:
  // A request was acknowledged or answered. What touches no memory is passed over.
  void on_success(const wire::Gid& host, const Message& message);

  // A request met a remote access error: key_unknown, address_out_of_bounds or write_refused, or
  // nothing where what succeeded before tells nothing about it.
  std::optional<Finding> explain(const wire::Gid& host, const Message& message) const;

  std::size_t memory() const { return keys_.capacity() * sizeof(Key); }

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // one past; equal to begin: nothing

    bool empty() const { return begin == end; }
    bool covers(const Range& other) const { return begin <= other.begin && other.end <= end; }
    void add(const Range& other);
  };
  struct Key {
    std::uint64_t used = 0;  // when last, by clock_; 0: free
    wire::Gid host;
    std::uint32_t remote_key = 0;
    Range read;
    Range written;
  };
  static constexpr std::size_t kSets = 1024;
  static constexpr std::size_t kWays = 4;

  static Range range_of(const Message& message);
  static std::size_t set_of(const wire::Gid& host, std::uint32_t remote_key);
  const Key* find(const wire::Gid& host, std::uint32_t remote_key) const;
  Key& find_or_make(const wire::Gid& host, std::uint32_t remote_key);
  void forget(const wire::Gid& host, std::uint32_t remote_key);
  bool knows_other_key(const wire::Gid& host) const;

  std::vector<Key> keys_;  // kSets times kWays, made with the first success
  std::uint64_t clock_ = 0;
};

}  // namespace softrnic::analysis
