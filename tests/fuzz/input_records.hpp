// SPDX-License-Identifier: BSD-3-Clause
// An input as captured records, one behind the other: two bytes of length (little-endian; its top
// bit: a snap length cut the frame), one byte of time since the record before, the bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "capture/capture_file.hpp"

namespace softrnic::fuzz {

inline std::vector<capture::Record> records_of(wire::ByteView input) {
  constexpr std::size_t kMostRecords = 256;
  constexpr std::uint32_t kCutOff = 100;  // bytes
  std::vector<capture::Record> records;
  wire::Instant now{std::chrono::seconds(1'700'000'000)};
  while (input.size() > 3 && records.size() < kMostRecords) {
    const unsigned word = wire::load_u8(input.data()) | wire::load_u8(input.data() + 1) << 8;
    const auto passed = static_cast<std::int8_t>(input[2]);
    input = input.subspan(3);
    const std::size_t size = std::min<std::size_t>(word & 0x7fff, input.size());
    // A few frames at one time, a few back in time, the others up to 16 ms apart.
    now += passed < 0 ? wire::Duration(passed) : wire::Duration(passed) * passed * 1000;
    capture::Record record;
    record.number = static_cast<std::uint32_t>(records.size() + 1);
    record.at = now;
    record.bytes = input.first(size);
    record.wire_size = static_cast<std::uint32_t>(size) + ((word & 0x8000) != 0 ? kCutOff : 0);
    records.push_back(record);
    input = input.subspan(size);
  }
  return records;
}

}  // namespace softrnic::fuzz
