// SPDX-License-Identifier: BSD-3-Clause
#include "transport/loss_probe.hpp"

#include <catch2/catch.hpp>

using softrnic::transport::LossProbe;
using softrnic::wire::Duration;
using softrnic::wire::Instant;
using softrnic::wire::kNever;
using softrnic::wire::Psn;
using std::chrono::microseconds;

namespace {

constexpr Instant kStart{};

LossProbe measured(Duration round_trip) {
  LossProbe probe;
  probe.measure(kStart, Psn(0xffffff));
  probe.acknowledged(kStart + round_trip, Psn(0));
  return probe;
}

}  // namespace

TEST_CASE("without a measured round trip there is no probe") {
  LossProbe probe;
  probe.arm(kStart);
  CHECK(probe.deadline() == kNever);
  probe.measure(kStart, Psn(7));
  probe.acknowledged(kStart + microseconds(40), Psn(7));  // not the one measured
  probe.arm(kStart);
  CHECK(probe.deadline() == kNever);
}

TEST_CASE("a probe waits three round trips, and 100 us at least") {
  LossProbe slow = measured(microseconds(200));
  slow.arm(kStart);
  CHECK(slow.deadline() - kStart == microseconds(600));
  LossProbe fast = measured(microseconds(2));
  fast.arm(kStart);
  CHECK(fast.deadline() - kStart == microseconds(100));
  fast.disarm();
  CHECK(fast.deadline() == kNever);
}

TEST_CASE("a new round trip counts an eighth") {
  LossProbe probe = measured(microseconds(80));
  probe.measure(kStart, Psn(1));
  probe.measure(kStart + microseconds(100), Psn(2));  // one at a time
  probe.acknowledged(kStart + microseconds(160), Psn(2));
  probe.arm(kStart);
  CHECK(probe.deadline() - kStart == microseconds(3 * 90));
}

TEST_CASE("a packet that is sent again measures nothing") {
  LossProbe probe = measured(microseconds(80));
  probe.measure(kStart, Psn(1));
  probe.forget_measurement();
  probe.acknowledged(kStart + microseconds(8000), Psn(2));
  probe.arm(kStart);
  CHECK(probe.deadline() - kStart == microseconds(240));
}

TEST_CASE("three probes, each after twice the wait, until something is acknowledged") {
  LossProbe probe = measured(microseconds(100));
  probe.arm(kStart);
  for (const int wait : {600, 1200}) {
    probe.sent(kStart);
    CHECK(probe.deadline() - kStart == microseconds(wait));
  }
  probe.sent(kStart);
  CHECK(probe.deadline() == kNever);
  probe.acknowledged(kStart, Psn(5));
  probe.arm(kStart);
  CHECK(probe.deadline() - kStart == microseconds(300));
}
