// SPDX-License-Identifier: BSD-3-Clause
// The ledger: everything the analysis has said so far, and what memory was seen to be used. Parts
// of the analysis write into it through the observation of one packet.
#pragma once

#include <vector>

#include "analysis/finding.hpp"
#include "analysis/frame.hpp"
#include "analysis/memory_extent.hpp"
#include "analysis/message.hpp"
#include "analysis/packet_record.hpp"
#include "analysis/paged_array.hpp"
#include "analysis/stream.hpp"

namespace softrnic::analysis {

struct Ledger {
  PagedArray<PacketRecord> records;
  PagedArray<Message> messages;
  std::vector<Finding> findings;
  MemoryExtent extents;

  std::uint32_t frame_of(std::uint32_t record) const {
    return record == kNone ? 0 : records[record].frame;
  }
};

// One packet as it is looked at: the frame, where what is said of it goes, and its stream.
struct Observation {
  const Frame& frame;
  Ledger& ledger;
  Stream& stream;
  std::uint32_t index;  // of the record
  PacketRecord& record;

  wire::Psn psn() const { return frame.headers.bth.psn; }
  wire::Operation operation() const { return frame.opcode->operation; }
  StreamSide& sender() { return stream.sides[record.sender]; }
  StreamSide& receiver() { return stream.sides[1 - record.sender]; }

  // The record counts to 255; no packet has that many.
  void find(FindingKind kind, std::uint32_t related = 0, std::uint64_t a = 0, std::uint64_t b = 0) {
    if (record.finding_count == 0xff) return;
    ++record.finding_count;
    ledger.findings.push_back({kind, related, a, b});
  }
};

// Nanoseconds from one time to another; 0 when the capture's clock went back.
inline std::uint64_t nanoseconds(wire::Instant from, wire::Instant to) {
  return to < from ? 0 : static_cast<std::uint64_t>((to - from).count());
}

}  // namespace softrnic::analysis
