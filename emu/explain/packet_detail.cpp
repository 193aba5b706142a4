// SPDX-License-Identifier: BSD-3-Clause
#include "explain/packet_detail.hpp"

#include <algorithm>

#include "wire/aeth.hpp"

namespace softrnic::explain {

namespace {

using analysis::Finding;
using analysis::FindingKind;
using analysis::Severity;

SequenceMark plain_mark(const analysis::Frame& frame) {
  const wire::OpcodeInfo& opcode = *frame.opcode;
  if (opcode.operation == wire::Operation::cnp) return SequenceMark::cnp;
  if (!opcode.is_response()) return SequenceMark::request;
  if (opcode.operation != wire::Operation::acknowledge) return SequenceMark::response;
  const wire::Syndrome syndrome = frame.headers.aeth.syndrome;
  if (syndrome.is_rnr_nak()) return SequenceMark::rnr;
  return syndrome.is_nak() ? SequenceMark::nak : SequenceMark::ack;
}

// The mark that tells most, of several.
SequenceMark mark_of(const analysis::Frame& frame, const analysis::PacketRecord& record,
                     std::span<const Finding> findings) {
  SequenceMark mark = plain_mark(frame);
  for (const Finding& finding : findings) {
    switch (finding.kind) {
      case FindingKind::bad_icrc:
        return SequenceMark::bad_icrc;
      case FindingKind::psn_gap:
      case FindingKind::read_response_missing:
        return SequenceMark::gap;
      case FindingKind::out_of_order:
        return SequenceMark::late;
      case FindingKind::duplicate:
      case FindingKind::response_repeated:
        mark = SequenceMark::duplicate;
        break;
      case FindingKind::ecn_marked:
        if (record.repetition == 0) mark = SequenceMark::ecn;
        break;
      default:
        break;
    }
  }
  const bool sent_again = record.repetition != 0 && !frame.opcode->is_response();
  return sent_again ? SequenceMark::retransmission : mark;
}

// How much of a passage's room a finding is worth: time where it tells, else how serious it is.
std::uint64_t gravity_of(const Finding& finding) {
  constexpr std::uint64_t kTenthOfSecond = 100'000'000;
  switch (finding.kind) {
    case FindingKind::retransmission_nak:
    case FindingKind::retransmission_rnr:
    case FindingKind::retransmission_timeout:
    case FindingKind::retransmission_implied:
    case FindingKind::retransmission_selective:
      return finding.b + 1;
    case FindingKind::retry_limit:
    case FindingKind::unanswered:
    case FindingKind::nak_invalid_request:
    case FindingKind::nak_remote_access:
    case FindingKind::nak_remote_operational:
      return ~std::uint64_t{0};
    case FindingKind::rate_changed:
      return 1;
    default:
      break;
  }
  switch (analysis::info(finding.kind).severity) {
    case Severity::error:
      return kTenthOfSecond;
    case Severity::warning:
      return 1;
    case Severity::note:
    case Severity::chat:
      break;
  }
  return 0;
}

}  // namespace

void add_detail(ConnectionDetail& detail, const SeenPacket& seen) {
  const analysis::Frame& frame = seen.frame;
  const analysis::PacketRecord& record = seen.record;
  const std::span<const Finding> findings = seen.findings;
  detail.throughput.add(frame.time, record.sender, frame.payload_size);

  SequencePoint point;
  point.at = frame.time;
  point.psn = record.relative_psn;
  const bool reads = frame.opcode->operation == wire::Operation::read_request;
  if (reads && seen.message != nullptr) point.psns = seen.message->psn_count;
  point.frame = frame.number;
  point.mark = findings.empty() && record.repetition == 0 ? plain_mark(frame)
                                                          : mark_of(frame, record, findings);
  const bool answers = frame.opcode->is_response() || point.mark == SequenceMark::cnp;
  point.requester = answers ? 1 - record.sender : record.sender;
  detail.sequence.add(point);

  LadderPacket packet;
  packet.at = frame.time;
  packet.frame = frame.number;
  packet.psn = frame.headers.bth.psn.value();
  packet.relative_psn = record.relative_psn;
  packet.bytes = frame.payload_size;
  packet.opcode = frame.opcode->opcode;
  packet.sender = record.sender;
  packet.repetition = record.repetition;
  packet.has_aeth = frame.opcode->has(wire::kAeth);
  if (packet.has_aeth) {
    packet.syndrome = frame.headers.aeth.syndrome.raw();
    packet.msn = frame.headers.aeth.msn;
  }
  std::uint64_t gravity = 0;
  for (const Finding& finding : findings) {
    const Severity severity = analysis::info(finding.kind).severity;
    if (!packet.has_finding || severity > analysis::info(packet.finding.kind).severity) {
      packet.finding = finding;
      packet.has_finding = true;
    }
    gravity = std::max(gravity, gravity_of(finding));
  }
  detail.ladder.add(packet);
  if (gravity != 0) detail.ladder.keep_here(gravity);
}

}  // namespace softrnic::explain
