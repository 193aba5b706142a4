// SPDX-License-Identifier: BSD-3-Clause
#include "replay/recorded_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace softrnic::replay {

namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{16} << 30;
// Places farther apart than this are ranges of their own.
constexpr std::uint64_t kLargestGap = std::uint64_t{64} << 20;
constexpr std::uint64_t kWord = 8;
constexpr std::byte kKnown{1};

std::uint64_t extent_of(const RecordedOperation& operation) {
  return operation.operation == wire::Operation::flush && operation.whole_region ? 0
                                                                                 : operation.length;
}

// Ranges in the order of addresses, with gaps between them that are too large to bridge.
void add_use(std::vector<RecordedRange>& ranges, RecordedRange use) {
  const auto reaches = [](const RecordedRange& a, const RecordedRange& b) {
    return b.begin <= a.end || b.begin - a.end <= kLargestGap;
  };
  auto at = std::find_if(ranges.begin(), ranges.end(),
                         [&](const RecordedRange& range) { return reaches(range, use); });
  while (at != ranges.end() && reaches(use, *at)) {
    use.begin = std::min(use.begin, at->begin);
    use.end = std::max(use.end, at->end);
    use.operations += at->operations;
    use.refused = use.refused && at->refused;
    at = ranges.erase(at);
  }
  ranges.insert(at, use);
}

}  // namespace

wire::Expected<RecordedMemory, std::string> RecordedMemory::of(RecordedConnection& connection,
                                                               std::uint8_t asker) {
  RecordedMemory memory(connection);
  const RecordedSide& side = connection.sides[asker];
  memory.find_ranges(side);
  if (memory.size_ > kMostMemory) {
    return wire::Unexpected{
        fmt::format("the operations name more than {} GiB of memory, which is not replayed",
                    kMostMemory >> 30)};
  }
  memory.initial_ = SparseBytes(memory.size_);
  if (memory.initial_.valid()) {
    memory.learn_initial(side);
    memory.rewind(true);
    for (const RecordedOperation& operation : side.operations) memory.execute(operation);
  }
  if (!memory.initial_.valid() || !memory.now_.valid() || !memory.known_.valid()) {
    return wire::Unexpected{
        fmt::format("there is no room for {} bytes of memory", 4 * memory.size_)};
  }
  return memory;
}

void RecordedMemory::find_ranges(const RecordedSide& asker) {
  std::map<std::uint32_t, std::vector<RecordedRange>> by_key;
  std::vector<std::uint32_t> order;
  for (const RecordedOperation& operation : asker.operations) {
    if (!operation.has_key()) continue;
    const std::uint64_t length = extent_of(operation);
    const std::uint64_t end = operation.remote_address + length;
    // Nothing is named by no bytes, and what wraps round is no memory (IBTA vol. 1, 10.6.3).
    if (length == 0 || end < operation.remote_address) continue;
    std::vector<RecordedRange>& uses = by_key[operation.remote_key];
    if (uses.empty()) order.push_back(operation.remote_key);
    add_use(uses, {operation.remote_key, operation.remote_address, end, 0, 1,
                   operation.refusal.is_nak()});
  }
  for (const std::uint32_t key : order) {
    by_key_[key] = {ranges_.size(), by_key[key].size()};
    for (RecordedRange range : by_key[key]) {
      size_ += (range.begin - size_) % kWord;
      range.offset = size_;
      // Bounded, so that any number of large ones says "too much" and does not wrap.
      size_ = std::min(size_ + std::min(range.size(), 2 * kMostMemory), 4 * kMostMemory);
      ranges_.push_back(range);
    }
  }
}

std::optional<std::uint64_t> RecordedMemory::locate(std::uint32_t key, std::uint64_t address,
                                                    std::uint64_t length) const {
  const auto of_key = by_key_.find(key);
  if (of_key == by_key_.end()) return {};
  for (const RecordedRange& range :
       std::span(ranges_).subspan(of_key->second.at, of_key->second.size)) {
    if (address < range.begin || address > range.end) continue;
    if (length > range.end - address) continue;
    return range.offset + (address - range.begin);
  }
  return {};
}

std::span<const std::byte> RecordedMemory::captured_answer(
    const RecordedOperation& operation) const {
  if (!operation.has_response) return {};
  if (operation.is_read()) return connection_->bytes(operation.payload);
  scratch_ = operation.original;
  return std::as_bytes(std::span(&scratch_, 1));
}

// A byte that is seen before anything has written it was there at the beginning.
void RecordedMemory::learn_initial(const RecordedSide& asker) {
  rewind(false);
  if (!now_.valid() || !known_.valid()) return;
  for (const RecordedOperation& operation : asker.operations) {
    const std::span<const std::byte> answer = captured_answer(operation);
    const auto at = locate(operation.remote_key, operation.remote_address, answer.size());
    if (at && !operation.refusal.is_nak()) {
      for (std::size_t i = 0; i < answer.size(); ++i) {
        if (known_.data()[*at + i] == kKnown) continue;
        initial_.data()[*at + i] = answer[i];
        if (told_.empty() || told_.back().at + told_.back().size != *at + i) {
          told_.push_back({*at + i, 0});
        }
        ++told_.back().size;
      }
      write(*at, answer);
    }
    execute(operation);
  }
}

void RecordedMemory::rewind(bool primed) {
  now_ = SparseBytes(size_);
  known_ = SparseBytes(size_);
  all_known_ = primed;
  if (!now_.valid() || !primed) return;
  for (const Run& run : told_) {
    std::memcpy(now_.data() + run.at, initial_.data() + run.at, run.size);
  }
}

void RecordedMemory::write(std::uint64_t at, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::memcpy(now_.data() + at, bytes.data(), bytes.size());
  std::memset(known_.data() + at, static_cast<int>(kKnown), bytes.size());
}

void RecordedMemory::execute(const RecordedOperation& operation) {
  if (!now_.valid() || !operation.has_key() || operation.length == 0) return;
  const auto at = locate(operation.remote_key, operation.remote_address, operation.length);
  if (!at) return;
  if (operation.carries_payload()) {
    write(*at, connection_->bytes(operation.payload));
    return;
  }
  if (!operation.is_atomic()) return;
  std::uint64_t value = 0;
  std::memcpy(&value, now_.data() + *at, sizeof value);
  if (operation.operation == wire::Operation::fetch_add) {
    value += operation.swap_add;
  } else if (value == operation.compare) {
    value = operation.swap_add;
  }
  std::memcpy(now_.data() + *at, &value, sizeof value);
}

bool RecordedMemory::change_before(const RecordedOperation& operation) {
  const std::span<const std::byte> answer = captured_answer(operation);
  const auto at = locate(operation.remote_key, operation.remote_address, answer.size());
  if (!at || operation.refusal.is_nak()) return false;
  if (std::equal(answer.begin(), answer.end(), now_.data() + *at)) return false;
  write(*at, answer);
  return true;
}

AnswerCheck RecordedMemory::check(const RecordedOperation& operation,
                                  std::span<const std::byte> answer) const {
  AnswerCheck result;
  const std::span<const std::byte> captured = captured_answer(operation);
  const auto at = locate(operation.remote_key, operation.remote_address, captured.size());
  if (!at || captured.size() != answer.size()) return result;
  for (std::size_t i = 0; i < captured.size(); ++i) {
    const bool known = all_known_ || known_.data()[*at + i] == kKnown;
    if (!known || now_.data()[*at + i] != captured[i]) continue;
    ++result.compared;
    if (answer[i] == captured[i]) continue;
    if (result.different++ == 0) result.first = i;
  }
  return result;
}

}  // namespace softrnic::replay
