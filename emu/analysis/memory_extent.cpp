// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/memory_extent.hpp"

#include <algorithm>
#include <cstring>

namespace softrnic::analysis {

namespace {

using wire::Operation;

// FLUSH needs no right to read or write, so it shows neither.
bool reads(Operation operation) {
  return operation == Operation::read_request;
}

bool writes(Operation operation) {
  return operation == Operation::write || operation == Operation::compare_swap ||
         operation == Operation::fetch_add || operation == Operation::atomic_write;
}

}  // namespace

void MemoryExtent::Range::add(const Range& other) {
  if (empty()) {
    *this = other;
  } else if (!other.empty()) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
}

// Nothing for a length of zero, whose key and address nobody checks (IBTA vol. 1, 9.7.4.1.5), and
// for a range that runs over the end of the address space. Nothing either where they were cut off.
MemoryExtent::Range MemoryExtent::range_of(const Message& message) {
  if (message.headers_cut) return {};
  Range range{message.virtual_address, message.virtual_address + message.length};
  if (range.end < range.begin) range.end = range.begin;
  return range;
}

std::size_t MemoryExtent::set_of(const wire::Gid& host, std::uint32_t remote_key) {
  std::uint64_t words[2];
  std::memcpy(words, host.bytes.data(), sizeof words);
  std::uint64_t hash = (words[0] ^ remote_key) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 29 ^ words[1]) * 0xbf58476d1ce4e5b9u;
  return (hash >> 40) % kSets * kWays;
}

const MemoryExtent::Key* MemoryExtent::find(const wire::Gid& host, std::uint32_t remote_key) const {
  if (keys_.empty()) return nullptr;
  const Key* set = &keys_[set_of(host, remote_key)];
  for (const Key* key = set; key != set + kWays; ++key) {
    if (key->used != 0 && key->remote_key == remote_key && key->host == host) return key;
  }
  return nullptr;
}

MemoryExtent::Key& MemoryExtent::find_or_make(const wire::Gid& host, std::uint32_t remote_key) {
  if (const Key* known = find(host, remote_key)) return const_cast<Key&>(*known);
  if (keys_.empty()) keys_.resize(kSets * kWays);
  Key* set = &keys_[set_of(host, remote_key)];
  Key* oldest = std::min_element(set, set + kWays,
                                 [](const Key& a, const Key& b) { return a.used < b.used; });
  *oldest = Key{};
  oldest->host = host;
  oldest->remote_key = remote_key;
  return *oldest;
}

void MemoryExtent::forget(const wire::Gid& host, std::uint32_t remote_key) {
  if (const Key* known = find(host, remote_key)) const_cast<Key&>(*known) = Key{};
}

void MemoryExtent::on_success(const wire::Gid& host, const Message& message) {
  if (message.has_invalidate) forget(host, message.invalidated_key);
  const bool read = reads(message.operation);
  if (!read && !writes(message.operation)) return;
  const Range range = range_of(message);
  if (range.empty()) return;
  Key& key = find_or_make(host, message.remote_key);
  key.used = ++clock_;
  (read ? key.read : key.written).add(range);
}

// Rare: the whole table is looked through, which has a fixed size.
bool MemoryExtent::knows_other_key(const wire::Gid& host) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [&](const Key& key) { return key.used != 0 && key.host == host; });
}

std::optional<Finding> MemoryExtent::explain(const wire::Gid& host, const Message& message) const {
  const Range wanted = range_of(message);
  if (wanted.empty()) return std::nullopt;
  const Key* key = find(host, message.remote_key);
  if (key == nullptr) {
    // Where nothing ever succeeded, that this key did not tells nothing about the key.
    if (!knows_other_key(host)) return std::nullopt;
    return Finding{FindingKind::key_unknown, 0, message.remote_key};
  }
  Range any = key->read;
  any.add(key->written);
  if (!any.covers(wanted)) {
    const std::uint64_t below =
        wanted.begin < any.begin ? std::min(wanted.end, any.begin) - wanted.begin : 0;
    const std::uint64_t above =
        wanted.end > any.end ? wanted.end - std::max(wanted.begin, any.end) : 0;
    const std::uint64_t first = below != 0 ? wanted.begin : wanted.end - above;
    return Finding{FindingKind::address_out_of_bounds, 0, first, below + above};
  }
  const bool write = writes(message.operation);
  if (write && !key->written.covers(wanted) && key->read.covers(wanted)) {
    return Finding{FindingKind::write_refused};
  }
  return std::nullopt;
}

}  // namespace softrnic::analysis
