// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/icrc_diagnosis.hpp"

namespace softrnic::capture {
namespace {

using analysis::FindingKind;
using analysis::IcrcVerdict;
using analysis::Severity;

std::string why_icrc_is_wrong(const PacketReading& reading) {
  if (reading.local) return fmt::format("The ICRC 0x{:08x} is wrong", reading.frame.checksum);
  const analysis::IcrcDiagnosis diagnosis = analysis::diagnose_icrc(
      reading.layer, reading.summed, reading.bth_in_summed, reading.frame.checksum);
  const std::string plain = fmt::format("The ICRC 0x{:08x} is wrong", reading.frame.checksum);
  return diagnosis.sentence.empty() ? plain : fmt::format("{}: {}", plain, diagnosis.sentence);
}

// What a receiver or the network did wrong where no packet says so but the one that is asked for
// again: a READ response that was lost behind the point of capture.
bool is_fault(const analysis::FindingInfo& info) {
  return info.severity >= Severity::warning || info.kind == FindingKind::retransmission_implied;
}

// Says why the request was refused that the finding before it is about.
bool explains(FindingKind kind) {
  return kind == FindingKind::key_unknown || kind == FindingKind::address_out_of_bounds ||
         kind == FindingKind::write_refused;
}

}  // namespace

void CaptureCheck::on_record(LinkType link_type, const Record& record) {
  on_frame(read_packet(link_type, record, mirrored_), record);
}

void CaptureCheck::on_frame(const PacketReading& reading, const Record& record,
                            const analysis::Foreseen& foreseen) {
  ++counts_.frames;
  if (reading.frame_cut) ++counts_.cut;
  ++counts_.traffic[static_cast<std::size_t>(reading.traffic)];
  if (!reading.is_roce()) return;
  count_packet(reading);
  if (mirrored_ && is_copy(record, reading)) return;
  if (reading.analysable()) {
    analyse(reading, foreseen);
  } else if (reading.fault != HeaderFault::none) {
    find_header_fault(reading);
  }
}

void CheckCounts::count_packet(const PacketReading& reading) {
  if (reading.headers_cut && reading.fault == HeaderFault::none) ++headers_cut;
  switch (reading.frame.icrc) {
    case IcrcVerdict::good:
      ++icrc_good;
      break;
    case IcrcVerdict::bad:
      ++icrc_bad;
      break;
    case IcrcVerdict::unverified:
      ++icrc_unverified;
      break;
  }
}

void CaptureCheck::count_packet(const PacketReading& reading) {
  if (counts_.roce() == 1) first_ = reading.frame.time;
  if (reading.tunnelled) ++counts_.tunnelled;
  last_ = reading.frame.time;
  counts_.count_packet(reading);
}

// A copy is looked at no further, but for one that was altered from one place to the other.
bool CaptureCheck::is_copy(const Record& record, const PacketReading& reading) {
  if (reading.bth == 0 || reading.frame.opcode == nullptr) return false;
  if (!copies_.is_copy(record, reading)) return false;
  ++counts_.copies;
  if (reading.frame.icrc == IcrcVerdict::bad) {
    Fault* fault = add(reading, Severity::error, analysis::info(FindingKind::bad_icrc).name);
    if (fault != nullptr) fault->sentence = why_icrc_is_wrong(reading);
  }
  return true;
}

// A mirror drops frames where its port is too slow, and two ports' frames come as they may.
bool CaptureCheck::excuse(const analysis::Finding& finding) {
  switch (finding.kind) {
    case FindingKind::psn_gap:
    case FindingKind::read_response_missing:
    case FindingKind::ack_of_unsent:
    case FindingKind::ghost:
    case FindingKind::msn_jump:
      ++counts_.gaps;
      return true;
    case FindingKind::out_of_order:
      ++counts_.late;
      return true;
    default:
      return false;
  }
}

std::size_t CaptureCheck::one_way_streams() const {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < analyzer_.stream_count(); ++i) {
    const analysis::Stream& stream = analyzer_.stream(i);
    const bool reliable = stream.service == wire::Service::reliable_connection ||
                          stream.service == wire::Service::extended_reliable_connection;
    const bool one_way = stream.sides[0].packets == 0 || stream.sides[1].packets == 0;
    count += reliable && one_way;
  }
  return count;
}

std::string CaptureCheck::signs_of_mirror() const {
  constexpr std::uint64_t kOften = 10;
  constexpr std::uint64_t kFew = 8;  // packets, which tell nothing
  if (mirrored_ || counts_.roce() < kFew) return {};
  if (counts_.doubled * kOften >= counts_.roce()) {
    return fmt::format("{} of {} packets came twice", counts_.doubled, counts_.roce());
  }
  if (counts_.tunnelled * kOften >= counts_.roce()) return "the packets are inside a tunnel's";
  const std::size_t streams = analyzer_.stream_count();
  const std::size_t one_way = one_way_streams();
  if (one_way != 0 && one_way == streams) return "no connection shows both directions";
  return {};
}

// Where the ICRC is wrong, too, it is what was altered on the way that makes no sense.
void CaptureCheck::find_header_fault(const PacketReading& reading) {
  const bool bad_icrc = reading.frame.icrc == IcrcVerdict::bad;
  const std::string_view kind =
      bad_icrc ? analysis::info(FindingKind::bad_icrc).name : name(reading.fault);
  Fault* fault = add(reading, Severity::error, kind);
  if (fault == nullptr) return;
  fault->sentence = sentence(reading);
  if (bad_icrc)
    fault->sentence = fmt::format("{}; {}", why_icrc_is_wrong(reading), fault->sentence);
}

void CaptureCheck::analyse(const PacketReading& reading, const analysis::Foreseen& foreseen) {
  const analysis::PacketRecord& record = analyzer_.on_packet(reading.frame, foreseen);
  for (const analysis::Finding& finding : analyzer_.findings(record)) {
    const analysis::FindingInfo& info = analysis::info(finding.kind);
    if (finding.kind == FindingKind::duplicate) ++counts_.doubled;
    if (mirrored_ && excuse(finding)) continue;
    if (explains(finding.kind) && !faults_.empty() &&
        faults_.back().frame == reading.frame.number) {
      faults_.back().sentence += "; " + analysis::sentence(finding);
    }
    if (!is_fault(info)) continue;
    Fault* fault = add(reading, std::max(info.severity, Severity::warning), info.name);
    if (fault == nullptr) continue;
    fault->related = finding.related;
    fault->stream = record.stream;
    fault->sentence = finding.kind == FindingKind::bad_icrc ? why_icrc_is_wrong(reading)
                                                            : analysis::sentence(finding);
  }
}

Fault* CaptureCheck::add(const PacketReading& reading, Severity severity, std::string_view kind) {
  ++counts_.faults;
  if (severity == Severity::error) ++counts_.errors;
  if (kept_ >= most_faults_) return nullptr;
  ++kept_;
  Fault fault;
  fault.frame = reading.frame.number;
  fault.qpn = reading.frame.headers.bth.destination_qpn;
  fault.severity = severity;
  fault.kind = kind;
  fault.time = reading.frame.time;
  fault.source = reading.frame.source;
  fault.destination = reading.frame.destination;
  return &faults_.emplace_back(std::move(fault));
}

}  // namespace softrnic::capture
