// SPDX-License-Identifier: BSD-3-Clause
#include "explain/loss_recovery.hpp"

#include <algorithm>
#include <chrono>

namespace softrnic::explain {

namespace {

using analysis::Finding;
using analysis::FindingKind;
using wire::Psn;

// Packets sent again from an unknown cause that follow within this time belong together.
constexpr wire::Duration kTogether = std::chrono::milliseconds(50);

LossCause cause_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::retransmission_nak:
      return LossCause::nak;
    case FindingKind::retransmission_selective:
      return LossCause::selective;
    case FindingKind::retransmission_timeout:
      return LossCause::timeout;
    case FindingKind::retransmission_implied:
      return LossCause::implied;
    default:
      return LossCause::unknown;
  }
}

bool covers(std::uint32_t first, std::uint32_t count, Psn psn) {
  const std::int32_t distance = psn.since(Psn(first));
  return distance >= 0 && static_cast<std::uint32_t>(distance) < count;
}

}  // namespace

std::string_view to_string(LossCause cause) {
  switch (cause) {
    case LossCause::nak:
      return "nak";
    case LossCause::selective:
      return "selective";
    case LossCause::timeout:
      return "timeout";
    case LossCause::implied:
      return "implied";
    case LossCause::never:
      return "never";
    case LossCause::unknown:
    case LossCause::count:
      break;
  }
  return "unknown";
}

struct LossRecovery::Sight {
  const analysis::Frame& frame;
  const analysis::PacketRecord& record;
  const analysis::Stream& stream;

  Psn psn() const { return frame.headers.bth.psn; }
  const analysis::StreamSide& sender() const { return stream.sides[record.sender]; }
  bool reliable() const { return stream.service != wire::Service::unreliable_connection; }
};

void LossRecovery::on_packet(const analysis::Frame& frame, const analysis::PacketRecord& record,
                             std::span<const Finding> findings, const analysis::Stream& stream,
                             LossSink& sink) {
  const Sight sight{frame, record, stream};
  for (const Finding& finding : findings) {
    switch (finding.kind) {
      case FindingKind::psn_gap:
        on_gap(sight, finding, sink);
        break;
      case FindingKind::out_of_order:
        requester(sight.record.sender).late = {frame.number, finding.related};
        break;
      case FindingKind::nak_psn_sequence:
      case FindingKind::selective_ack:
        requester(1 - record.sender).nak = {frame.number, frame.time};
        break;
      case FindingKind::read_response_missing:
        requester(1 - record.sender).early_response = {frame.number, frame.time};
        break;
      case FindingKind::retransmission_nak:
      case FindingKind::retransmission_selective:
      case FindingKind::retransmission_timeout:
      case FindingKind::retransmission_implied:
        on_again(sight, finding, sink);
        break;
      case FindingKind::rnr_nak:
        on_rnr_nak(sight, finding, sink);
        break;
      case FindingKind::retransmission_rnr:
        on_rnr_over(sight, finding);
        break;
      case FindingKind::retry_limit:
      case FindingKind::unanswered:
        give_up(sight);
        break;
      default:
        break;
    }
  }
  if (requesters_[record.sender] == nullptr) return;
  Requester& r = *requesters_[record.sender];
  r.lost_before = sight.sender().lost;
  r.timeouts_before = sight.sender().timeouts;
}

// A gap in front of the capture. RC asks for it; UC goes on without.
void LossRecovery::on_gap(const Sight& sight, const Finding& finding, LossSink& sink) {
  Requester& r = requester(sight.record.sender);
  r.gap = {sight.frame.number, static_cast<std::uint32_t>(finding.a),
           static_cast<std::uint32_t>(finding.b), sight.frame.time};
  if (sight.reliable()) return;
  Loss loss;
  loss.connection = sight.record.stream;
  loss.side = sight.record.sender;
  loss.psn = r.gap.psn;
  loss.packets = r.gap.missing;
  loss.shown_frame = loss.last_frame = r.gap.frame;
  loss.cause = LossCause::never;
  loss.lost_at = loss.asked_at = loss.again_at = loss.last_round_at = r.gap.at;
  sink.on_loss(loss);
}

// Whether a packet that is sent again belongs to the loss that is being mended.
bool LossRecovery::goes_on(const Sight& sight, const Requester& r, const Finding& finding,
                           LossCause cause) {
  if (!r.losing || !sight.psn().after(Psn(r.loss.psn)) || cause != r.loss.cause) return false;
  if (cause == LossCause::timeout) return sight.sender().timeouts == r.timeouts_before;
  if (finding.related != 0) return finding.related == r.loss.cause_frame;
  return r.loss.cause_frame == 0 && sight.frame.time - r.loss.again_at < kTogether;
}

void LossRecovery::on_again(const Sight& sight, const Finding& finding, LossSink& sink) {
  Requester& r = requester(sight.record.sender);
  const LossCause cause = cause_of(finding.kind);
  if (!goes_on(sight, r, finding, cause)) {
    if (r.losing && r.loss.psn == sight.psn().value()) {
      ++r.loss.rounds;
      // What it took in the end: a timer, where a NAK did not help.
      if (cause == LossCause::timeout) r.loss.cause = cause;
      if (cause != LossCause::timeout) r.loss.cause_frame = finding.related;
      r.loss.last_round_at = sight.frame.time;
    } else {
      if (r.losing) sink.on_loss(r.loss);
      begin(sight, finding, cause);
    }
  }
  follow(sight, r);
  ++r.loss.packets_again;
  r.loss.packets += static_cast<std::uint32_t>(sight.sender().lost - r.lost_before);
  r.loss.last_frame = sight.frame.number;
}

// The packet goes on with the newest run, or begins another one.
void LossRecovery::follow(const Sight& sight, Requester& r) {
  const Run& newest = r.runs[r.newest_run];
  const bool follows = newest.frame != 0 && r.loss.again_frame != sight.frame.number &&
                       newest.last_frame >= r.loss.again_frame &&
                       sight.psn().after(Psn(newest.last_psn));
  if (!follows) {
    r.newest_run = static_cast<std::uint8_t>((r.newest_run + 1) % r.runs.size());
    r.runs[r.newest_run] = {};
    r.runs[r.newest_run].psn = sight.psn().value();
    r.runs[r.newest_run].frame = sight.frame.number;
    r.runs[r.newest_run].begin = sight.frame.time;
  }
  Run& run = r.runs[r.newest_run];
  run.last_psn = sight.psn().value();
  run.last_frame = sight.frame.number;
  run.end = sight.frame.time;
}

void LossRecovery::begin(const Sight& sight, const Finding& finding, LossCause cause) {
  Requester& r = requester(sight.record.sender);
  const analysis::Frame& frame = sight.frame;
  r.losing = true;
  Loss& loss = r.loss = {};
  loss.connection = sight.record.stream;
  loss.side = sight.record.sender;
  loss.psn = frame.headers.bth.psn.value();
  loss.cause = cause;
  loss.again_frame = frame.number;
  loss.again_at = loss.last_round_at = loss.asked_at = loss.lost_at = frame.time;
  loss.lost_frame = sight.record.original;
  if (cause != LossCause::timeout) {
    loss.cause_frame = finding.related;
    for (const Notice& notice : {r.nak, r.early_response}) {
      if (notice.frame != 0 && notice.frame == finding.related) loss.asked_at = notice.at;
    }
  }
  find_lost(sight, r, finding, loss);
  loss.lost_at = std::min(loss.lost_at, loss.again_at);
  if (cause == LossCause::nak || cause == LossCause::selective || cause == LossCause::implied) {
    loss.asked_at = std::clamp(loss.asked_at, loss.lost_at, loss.again_at);
  }
  // It is counted when it is seen to be filled; what is lost behind the capture never is.
  // What overtook another was discarded, and not lost.
  const bool behind = sight.sender().lost == r.lost_before && loss.late_frame == 0;
  loss.packets = behind ? 1 : 0;
}

// When what is missing was sent last.
void LossRecovery::find_lost(const Sight& sight, const Requester& r, const Finding& finding,
                             Loss& loss) {
  const Psn psn = sight.psn();
  Run run;  // the newest it was part of
  for (const Run& one : r.runs) {
    const bool within = !psn.before(Psn(one.psn)) && !psn.after(Psn(one.last_psn));
    if (one.frame > run.frame && within) run = one;
  }
  if (r.gap.frame > run.last_frame && covers(r.gap.psn, r.gap.missing, psn)) {
    loss.shown_frame = r.gap.frame;
    loss.lost_at = r.gap.at;
  } else if (run.frame != 0) {
    // Somewhere between the run's ends: where its PSN stands among theirs.
    const auto length = std::max(Psn(run.last_psn).since(Psn(run.psn)), 1);
    loss.lost_at = run.begin + (run.end - run.begin) * psn.since(Psn(run.psn)) / length;
    loss.before_from = run.frame;
    loss.before_to = run.last_frame;
  } else if (sight.record.original != 0) {
    loss.lost_at = sight.frame.time - std::chrono::nanoseconds(finding.b);
    // RC takes packets in their order alone: what overtakes another is discarded (IBTA vol. 1,
    // 9.7.4.1.1).
    const bool overtook =
        sight.record.original >= r.late.overtaken_from && sight.record.original < r.late.frame;
    if (overtook) loss.late_frame = r.late.frame;
  } else {
    loss.lost_at = loss.asked_at;
  }
}

// --- the receiver is not ready ---

void LossRecovery::on_rnr_nak(const Sight& sight, const Finding& finding, LossSink& sink) {
  const std::uint8_t side = 1 - sight.record.sender;
  Requester& r = requester(side);
  const bool again = r.waiting && r.wait.psn == sight.psn().value() && finding.b > 1;
  if (!again) {
    if (r.waiting) sink.on_not_ready(r.wait);
    r.waiting = true;
    r.wait = {};
    r.wait.connection = sight.record.stream;
    r.wait.side = side;
    r.wait.psn = sight.psn().value();
    r.wait.first_frame = sight.frame.number;
    r.wait.begin = sight.frame.time;
  }
  ++r.wait.naks;
  r.wait.asked += std::chrono::nanoseconds(finding.a);
  r.wait.last_frame = sight.frame.number;
  r.rnr_frame = sight.frame.number;
  r.rnr_at = sight.frame.time;
}

void LossRecovery::on_rnr_over(const Sight& sight, const Finding& finding) {
  Requester& r = requester(sight.record.sender);
  if (!r.waiting || finding.related != r.rnr_frame) return;
  r.rnr_frame = 0;
  r.wait.waited += std::max(sight.frame.time - r.rnr_at, wire::Duration{});
  r.wait.last_frame = sight.frame.number;
}

// RNR says so in the NAK, everything else in the packet that is sent again.
void LossRecovery::give_up(const Sight& sight) {
  if (sight.frame.opcode->is_response()) {
    requester(1 - sight.record.sender).wait.gave_up = true;
  } else {
    requester(sight.record.sender).loss.gave_up = true;
  }
}

void LossRecovery::finish(LossSink& sink) {
  for (const std::unique_ptr<Requester>& one : requesters_) {
    if (one == nullptr) continue;
    Requester& r = *one;
    if (r.losing) sink.on_loss(r.loss);
    if (r.waiting) {
      // Asked to wait more than once, and then nothing: that was the last try.
      r.wait.gave_up = r.wait.gave_up || (r.rnr_frame != 0 && r.wait.naks > 1);
      sink.on_not_ready(r.wait);
    }
    r.losing = r.waiting = false;
  }
}

}  // namespace softrnic::explain
