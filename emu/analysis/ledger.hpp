// SPDX-License-Identifier: BSD-3-Clause
// The ledger: what the analysis has said so far, everything or what may still be referred to, and
// what memory was seen to be used. Parts of the analysis write into it through the observation of
// one packet.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "analysis/finding.hpp"
#include "analysis/frame.hpp"
#include "analysis/memory_extent.hpp"
#include "analysis/message.hpp"
#include "analysis/message_store.hpp"
#include "analysis/packet_record.hpp"
#include "analysis/paged_array.hpp"
#include "analysis/stream.hpp"

namespace softrnic::analysis {

class Ledger {
 public:
  // `forgets`: only the newest record and its findings are kept.
  explicit Ledger(bool forgets = false, MessageStore::Sink sink = {})
      : messages(forgets, std::move(sink)), forgets_(forgets) {}

  bool forgets() const { return forgets_; }

  // The number of a new record.
  std::uint32_t add(PacketRecord record) {
    record.first_finding = findings_gone_ + static_cast<std::uint32_t>(findings.size());
    if (!forgets_) return records_.push_back(record);
    messages.let_go();
    findings_gone_ = record.first_finding;
    findings.clear();
    newest_ = record;
    return packets_++;
  }
  // For ever, or, where it forgets, of the newest one alone.
  PacketRecord& record(std::uint32_t index) { return forgets_ ? newest_ : records_[index]; }
  const PacketRecord& newest() const { return newest_; }

  void set_answered(std::uint32_t record, std::uint32_t frame) {
    if (!forgets_) records_[record].answered_in = frame;
  }

  std::span<const Finding> findings_of(const PacketRecord& record) const {
    const std::size_t from = record.first_finding - findings_gone_;
    if (from > findings.size() || record.finding_count > findings.size() - from) return {};
    return std::span(findings).subspan(from, record.finding_count);
  }

  std::size_t memory() const {
    return records_.memory() + messages.memory() + findings.capacity() * sizeof(Finding) +
           extents.memory();
  }

  MessageStore messages;
  std::vector<Finding> findings;
  MemoryExtent extents;

 private:
  bool forgets_;
  PagedArray<PacketRecord, 8> records_;
  PacketRecord newest_;
  std::uint32_t packets_ = 0;
  std::uint32_t findings_gone_ = 0;
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
