// SPDX-License-Identifier: BSD-3-Clause
#include "transport/scoreboard.hpp"

#include <algorithm>
#include <new>
#include <span>

namespace softrnic::transport {

using wire::Psn;

void Scoreboard::release(Record& record) {
  if (record.received && record.counts) --held_;
  record.received = false;
}

void Scoreboard::sent(Psn psn, bool counts) {
  if (!records_) records_.reset(new (std::nothrow) Record[kRecords]);
  if (!records_) return;
  Record& sent = record(psn);
  const bool repeated = sent.psn == psn && (sent.serial != 0 || sent.repeated);
  release(sent);
  sent = {psn, counts, repeated, false, ++serial_};
}

void Scoreboard::received(Psn psn) {
  if (!knows(psn) || record(psn).received) return;
  Record& there = record(psn);
  there.received = true;
  if (there.counts) ++held_;
  // Which of several copies has arrived is not known.
  if (!there.repeated) newest_received_ = std::max(newest_received_, there.serial);
}

void Scoreboard::lose(Psn psn) {
  if (!records_) return;
  Record& lost = record(psn);
  if (lost.psn != psn) return;
  release(lost);
  lost.serial = 0;
  lost.repeated = true;
}

void Scoreboard::lose_all() {
  lost_before_ = abandoned_before_ = serial_ + 1;
  threshold_received_ = false;
}

void Scoreboard::forget_received() {
  if (!records_) return;
  for (Record& each : std::span(records_.get(), kRecords)) release(each);
}

bool Scoreboard::find_losses() {
  if (newest_received_ <= lost_before_) return false;
  // Arrivals in order tell of no loss.
  const bool in_order = newest_received_ == lost_before_ + 1 && threshold_received_;
  lost_before_ = newest_received_;
  threshold_received_ = true;
  return !in_order;
}

void Scoreboard::acknowledged(Psn from, Psn end) {
  if (held_ == 0) return;
  for (Psn psn = from; psn != end && held_ != 0; ++psn) {
    if (record(psn).psn == psn) release(record(psn));
  }
}

bool Scoreboard::is_lost(Psn psn) const {
  return !knows(psn) || (!record(psn).received && record(psn).serial < lost_before_);
}

bool Scoreboard::is_abandoned(Psn psn) const {
  return !knows(psn) || (!record(psn).received && record(psn).serial < abandoned_before_);
}

}  // namespace softrnic::transport
