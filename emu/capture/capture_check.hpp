// SPDX-License-Identifier: BSD-3-Clause
// The check of a capture: told record by record, it counts what there is and collects the faults.
//
// A fault is what a receiver drops a frame for (a wrong ICRC, headers that are wrong), and every
// finding of the analysis that is a warning or worse, or the only trace of a loss. Faults are in
// the order of the frames.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analyzer.hpp"
#include "capture/mirror_copies.hpp"
#include "capture/packet_reading.hpp"

namespace softrnic::capture {

struct Fault {
  std::uint32_t frame = 0;
  std::uint32_t related = 0;  // another frame that explains it; 0: none
  std::uint32_t stream = analysis::kNone;
  std::uint32_t qpn = 0;  // destination
  analysis::Severity severity = analysis::Severity::error;
  std::string_view kind;  // a finding's name, or a header fault's
  wire::Instant time;
  wire::Gid source;
  wire::Gid destination;
  std::string sentence;  // without a full stop
};

struct CheckCounts {
  std::uint64_t frames = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Traffic::count)> traffic{};
  std::uint64_t cut = 0;          // frames that a snap length cut
  std::uint64_t headers_cut = 0;  // RoCE packets whose headers it cut: not analysed
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t icrc_unverified = 0;
  std::uint64_t faults = 0;
  std::uint64_t errors = 0;     // of the faults; the others are warnings
  std::uint64_t tunnelled = 0;  // RoCE packets inside others
  std::uint64_t doubled = 0;    // the same packet right behind the first
  // Of a mirror's capture: frames that are copies of others; places where it lacks a packet;
  // packets that came behind others.
  std::uint64_t copies = 0;
  std::uint64_t gaps = 0;
  std::uint64_t late = 0;

  // A RoCE packet's ICRC, and whether its headers are whole.
  void count_packet(const PacketReading& reading);

  std::uint64_t of(Traffic kind) const { return traffic[static_cast<std::size_t>(kind)]; }
  std::uint64_t roce() const {
    return of(Traffic::roce_v1) + of(Traffic::roce_v2) + of(Traffic::infiniband);
  }
};

class CaptureCheck {
 public:
  // Keeps the first `most_faults` and counts the others. `mirrored`: a switch mirrored the traffic,
  // perhaps twice, cut, in one direction only or with frames missing, which then is no fault.
  // The capture is read once from end to end, so that all but the newest `remembered` packets may
  // be forgotten.
  explicit CaptureCheck(std::size_t most_faults, bool mirrored = false,
                        std::uint32_t remembered = 1 << 15)
      : most_faults_(most_faults),
        mirrored_(mirrored),
        analyzer_({.connections = {}, .forgets = true, .remembered = remembered}),
        copies_(remembered) {}

  void on_record(LinkType link_type, const Record& record);
  // Of a record already read, as a mirror's if it is one; on_record() is made of it. (For
  // PacketLookahead.)
  void on_frame(const PacketReading& reading, const Record& record,
                const analysis::Foreseen& foreseen = {});
  void prefetch(const analysis::Frame& frame, analysis::Foreseen& foreseen, unsigned step) const {
    analyzer_.prefetch(frame, foreseen, step);
  }

  const CheckCounts& counts() const { return counts_; }
  // Those that were not taken out yet.
  const std::vector<Fault>& faults() const { return faults_; }
  // For one who prints them as they come, between two records.
  std::vector<Fault> take_faults() { return std::exchange(faults_, {}); }
  std::uint64_t kept() const { return kept_; }
  const analysis::Analyzer& analyzer() const { return analyzer_; }
  bool mirrored() const { return mirrored_; }
  // Reliable connections of which the capture shows one direction only.
  std::size_t one_way_streams() const;
  // What makes the capture look like a switch's mirror, in a few words; empty: nothing does, or it
  // was taken for one.
  std::string signs_of_mirror() const;
  // From the first RoCE packet to the last one.
  wire::Duration duration() const { return last_ - first_; }

 private:
  void count_packet(const PacketReading& reading);
  bool is_copy(const Record& record, const PacketReading& reading);
  bool excuse(const analysis::Finding& finding);
  void find_header_fault(const PacketReading& reading);
  void analyse(const PacketReading& reading, const analysis::Foreseen& foreseen);
  // The fault where it is to be filled in; null when there are enough already.
  Fault* add(const PacketReading& reading, analysis::Severity severity, std::string_view kind);

  std::size_t most_faults_;
  bool mirrored_;
  CheckCounts counts_;
  std::vector<Fault> faults_;
  std::uint64_t kept_ = 0;  // of all faults, those that were in `faults_`
  analysis::Analyzer analyzer_;
  MirrorCopies copies_;
  wire::Instant first_;
  wire::Instant last_;
};

}  // namespace softrnic::capture
