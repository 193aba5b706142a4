// SPDX-License-Identifier: BSD-3-Clause
#include "explain/worst_moments.hpp"

#include <algorithm>
#include <chrono>

namespace softrnic::explain {

namespace {

constexpr auto kBrokenRule = std::chrono::milliseconds(100);

}  // namespace

std::string_view to_string(MomentKind kind) {
  switch (kind) {
    case MomentKind::loss:
      return "loss";
    case MomentKind::not_ready:
      return "not_ready";
    case MomentKind::gave_up:
      return "gave_up";
    case MomentKind::refused:
      return "refused";
    case MomentKind::rejected:
      return "rejected";
    case MomentKind::broken_rule:
      return "broken_rule";
    case MomentKind::header_fault:
      return "header_fault";
    case MomentKind::slow_answer:
      return "slow_answer";
    case MomentKind::slowed_down:
      break;
  }
  return "slowed_down";
}

std::uint64_t gravity(const Moment& moment) {
  constexpr std::uint64_t kFatal = std::uint64_t{1} << 62;
  auto cost = static_cast<std::uint64_t>(std::max<std::int64_t>(moment.lost.count(), 0));
  const bool broken =
      moment.kind == MomentKind::broken_rule || moment.kind == MomentKind::header_fault;
  if (broken && moment.severity == analysis::Severity::error) {
    cost += static_cast<std::uint64_t>(std::chrono::nanoseconds(kBrokenRule).count());
  }
  return moment.fatal() ? kFatal + std::min(cost, kFatal - 1) : std::min(cost, kFatal - 1);
}

bool is_worse(const Moment& a, const Moment& b) {
  const std::uint64_t of_a = gravity(a);
  const std::uint64_t of_b = gravity(b);
  return of_a != of_b ? of_a > of_b : a.frame < b.frame;
}

bool WorstMoments::offer(const Moment& moment) {
  if (moments_.size() == kMost && !is_worse(moment, moments_.back())) return false;
  if (moments_.size() == kMost) moments_.pop_back();
  const auto at = std::upper_bound(moments_.begin(), moments_.end(), moment, is_worse);
  moments_.insert(at, moment);
  return true;
}

void WorstMoments::count_again(std::uint32_t connection, analysis::FindingKind kind) {
  for (Moment& moment : moments_) {
    const bool same =
        moment.connection == connection && moment.finding.kind == kind &&
        (moment.kind == MomentKind::broken_rule || moment.kind == MomentKind::rejected);
    if (same) ++moment.times;
  }
}

}  // namespace softrnic::explain
