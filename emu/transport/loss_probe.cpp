// SPDX-License-Identifier: BSD-3-Clause
#include "transport/loss_probe.hpp"

#include <algorithm>

#include "transport/retry_policy.hpp"

namespace softrnic::transport {

void LossProbe::measure(wire::Instant now, wire::Psn psn) {
  if (measuring_) return;
  measuring_ = true;
  measured_psn_ = psn;
  measured_at_ = now;
}

void LossProbe::acknowledged(wire::Instant now, wire::Psn unacked) {
  probes_ = 0;
  if (!measuring_ || !unacked.after(measured_psn_)) return;
  measuring_ = false;
  // An eighth of each new measurement (RFC 6298, 2.3).
  const wire::Duration measured = std::max(now - measured_at_, wire::Duration(1));
  round_trip_ = round_trip_ == wire::Duration{} ? measured : (7 * round_trip_ + measured) / 8;
}

void LossProbe::arm(wire::Instant now) {
  const bool ready = round_trip_ != wire::Duration{} && probes_ < kMaxProbes;
  deadline_ = ready ? now + std::max(kProbeRoundTrips * round_trip_, kMinProbeWait) * (1 << probes_)
                    : wire::kNever;
}

void LossProbe::sent(wire::Instant now) {
  ++probes_;
  arm(now);
}

}  // namespace softrnic::transport
