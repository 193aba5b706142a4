// SPDX-License-Identifier: BSD-3-Clause
#include "capture/erf_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/time_stamp.hpp"

namespace softrnic::capture {
namespace {

constexpr std::size_t kHeader = 16;
constexpr std::size_t kExtension = 8;

std::uint64_t stamp_of(wire::ByteView record) {
  return __builtin_bswap64(wire::load_be64(record.data()));  // 32 bits of seconds, 32 below
}

unsigned type_of(wire::ByteView record) {
  return wire::load_u8(record.data() + 8);
}

std::size_t length_of(wire::ByteView record) {
  return wire::load_be16(record.data() + 10);
}

// What stands before the frame: the header, extension headers, and the pad of Ethernet.
std::size_t before_frame(wire::ByteView record) {
  std::size_t size = kHeader;
  bool more = (type_of(record) & 0x80) != 0;
  while (more && size + kExtension <= record.size()) {
    more = (wire::load_u8(record.data() + size) & 0x80) != 0;
    size += kExtension;
  }
  const unsigned type = type_of(record) & 0x7f;
  const bool ethernet = type == 2 || type == 11 || type == 16 || type == 20;
  return size + (ethernet ? 2 : 0);
}

}  // namespace

bool ErfReader::is_erf(wire::ByteView beginning) {
  constexpr unsigned kLastType = 31;
  constexpr std::uint64_t kDay = std::uint64_t{86'400} << 32;
  std::uint64_t before = 0;
  std::size_t records = 0;
  while (beginning.size() >= kHeader) {
    const std::uint64_t stamp = stamp_of(beginning);
    const unsigned type = type_of(beginning) & 0x7f;
    const bool fits =
        type != 0 && type <= kLastType && length_of(beginning) >= kHeader && stamp >> 32 != 0;
    const bool near = records == 0 || (stamp > before ? stamp - before : before - stamp) < kDay;
    if (!fits || !near) return false;
    ++records;
    before = stamp;
    if (length_of(beginning) > beginning.size()) break;
    beginning = beginning.subspan(length_of(beginning));
  }
  return records != 0;
}

const ErfReader::Packet* ErfReader::next() {
  if (to_pass_ != 0) source_.skip(std::exchange(to_pass_, 0));
  if (!damage_.empty()) return nullptr;
  const wire::ByteView head = source_.peek(kHeader);
  if (head.empty()) {
    if (source_.error() != 0) damage_ = std::strerror(source_.error());
    return nullptr;
  }
  if (head.size() < kHeader || length_of(head) < kHeader) {
    damage_ = head.size() < kHeader ? "truncated record" : "a record is shorter than its header";
    return nullptr;
  }
  const std::size_t length = length_of(head);
  const wire::ByteView record = source_.peek(length);
  if (record.size() < length) {
    damage_ = "truncated record";
    return nullptr;
  }
  to_pass_ = length;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t stamp = stamp_of(record);
  const std::uint64_t fraction = (stamp & 0xffffffff) * kSecond >> 32;
  packet_.at =
      time_stamp(static_cast<std::int64_t>(stamp >> 32), static_cast<std::uint32_t>(fraction));
  packet_.bytes = record;
  const std::size_t whole = before_frame(record) + wire::load_be16(record.data() + 14);
  packet_.wire_size = static_cast<std::uint32_t>(std::max(whole, length));
  return &packet_;
}

}  // namespace softrnic::capture
