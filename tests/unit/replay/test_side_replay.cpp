// SPDX-License-Identifier: BSD-3-Clause
// Both sides of a sample on two NICs in virtual time, with a window on what passes between them.
#include "replay/side_replay.hpp"

#include "link/memory_link.hpp"
#include "unit/replay/sample.hpp"
#include "virtual_net.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::replay::test {

namespace {

constexpr wire::Instant kStart{std::chrono::seconds(100)};

struct Ends {
  explicit Ends(const std::string& name, const SideReplayOptions& asks = {},
                const SideReplayOptions& answers = {})
      : asker_connection(recorded(name)), answerer_connection(recorded(name)) {
    net.set_tick(std::chrono::microseconds(1));
    nic::Nic& asker_nic = net.add(config(1, asker_connection.sides[0].address));
    nic::Nic& answerer_nic = net.add(config(2, asker_connection.sides[1].address));
    net.introduce_all();
    asker.emplace(asker_nic, asker_connection, std::uint8_t{0}, on(asker_nic, 0, asks));
    answerer.emplace(answerer_nic, answerer_connection, std::uint8_t{1},
                     on(answerer_nic, 1, answers));
    REQUIRE(asker->error() == "");
    REQUIRE(answerer->error() == "");
  }

  static nic::NicConfig config(std::uint8_t which, const wire::Gid& address) {
    nic::NicConfig made;
    made.mac.bytes = {2, 0, 0, 0, 0, which};
    made.addresses = {{address, static_cast<std::uint8_t>(address.is_ipv4_mapped() ? 24 : 64)}};
    made.seed = which;
    made.first_qpn = 0x100u * which;
    return made;
  }

  SideReplayOptions on(nic::Nic& nic, int side, SideReplayOptions options) const {
    options.gid_index = softrnic::test::gid_index(nic, asker_connection.sides[side].address,
                                                  asker_connection.chosen.stream.version);
    options.path_mtu = asker_connection.path_mtu;
    options.psn = 0xfffff0u + static_cast<std::uint32_t>(side);
    options.exposes_memory = true;
    options.primed = true;
    return options;
  }

  // Until both have finished, or the asker has failed.
  bool run() {
    asker->connect(answerer->local(), {});
    answerer->connect(asker->local(), {});
    net.advance(kStart - net.now());
    asker->start(net.now());
    answerer->start(net.now());
    for (int turns = 0; turns < 2'000'000; ++turns) {
      const bool asked = asker->turn(net.now());
      const bool answered = answerer->turn(net.now());
      const bool busy = asked || answered;
      if (asker->trouble()) return false;
      if (asker->finished() && answerer->finished() &&
          answerer->heard() == answerer->heard_in_capture()) {
        return true;
      }
      const wire::Instant due = std::min(asker->next_deadline(), answerer->next_deadline());
      if (!busy && !net.step(due))
        net.advance(due == wire::kNever ? std::chrono::milliseconds(1) : due - net.now());
    }
    FAIL("it does not end");
    return false;
  }

  RecordedConnection asker_connection;
  RecordedConnection answerer_connection;
  softrnic::test::VirtualNet net;
  std::optional<SideReplay> asker;
  std::optional<SideReplay> answerer;
};

SideReplayOptions faithful() {
  SideReplayOptions options;
  options.faithful = true;
  return options;
}

}  // namespace

TEST_CASE("A side and its counterpart play a connection to its end") {
  for (const char* name : {"rc-all-v6", "rc-all-v1", "rc-send-v4", "rc-atomic-v4", "rc-read-v4",
                           "loss-read-response", "rnr"}) {
    INFO(name);
    Ends ends(name);
    REQUIRE(ends.run());
    const SideReplayCounts& counts = ends.asker->counts();
    CHECK(counts.completed == ends.asker->operations().size());
    CHECK(counts.answers_compared == counts.answers_captured);
    CHECK(counts.answers_different == 0);
    const SideReplayCounts& taken = ends.answerer->counts();
    CHECK(taken.messages == taken.messages_as_captured);
  }
}

TEST_CASE("What was refused is asked for all the same, unless it is to be refused again") {
  Ends mapped("nak-unknown-key");
  CHECK(mapped.run());
  SideReplayOptions keeps;
  keeps.keeps_refused = true;
  Ends refused("nak-unknown-key", keeps, faithful());
  CHECK_FALSE(refused.run());
  REQUIRE(refused.asker->trouble());
  CHECK(refused.asker->trouble()->status == transport::CompletionStatus::remote_access_error);
  CHECK(refused.asker->trouble()->operation == refused.asker->operations().size() - 1);
}

TEST_CASE("A faithful stand-in is not ready as often as the captured responder was not") {
  RecordedConnection capture = recorded("rnr");
  std::uint64_t captured = 0;
  for (const RecordedOperation& operation : capture.sides[0].operations) {
    captured += operation.rnr_naks;
  }
  REQUIRE(captured > 0);
  Ends plain("rnr");
  CHECK(plain.run());
  CHECK(plain.net[1].counters().send_rnr_err == 0);
  Ends again("rnr", {}, faithful());
  CHECK(again.run());
  CHECK(again.net[1].counters().send_rnr_err == captured);
}

TEST_CASE("A key that the peer does not have ends the replay with its reason") {
  Ends ends("rc-write-v4");
  KeyMap wrong;
  for (const RecordedRange& range : ends.asker->memory().ranges()) {
    wrong.add(range.key, range.begin, 0, {range.key ^ 0x500, range.begin});
  }
  ends.asker->connect(ends.answerer->local(), wrong);
  ends.answerer->connect(ends.asker->local(), {});
  ends.asker->start(ends.net.now());
  for (int turns = 0; turns < 100'000 && !ends.asker->trouble(); ++turns) {
    ends.asker->turn(ends.net.now());
    ends.answerer->turn(ends.net.now());
    if (!ends.net.step(ends.asker->next_deadline())) {
      ends.net.advance(std::chrono::microseconds(10));
    }
  }
  REQUIRE(ends.asker->trouble());
  CHECK(ends.asker->trouble()->status == transport::CompletionStatus::remote_access_error);
}

TEST_CASE("Fast takes less time than the capture did, and slow takes more") {
  const auto duration = [](const Pace& pace) {
    SideReplayOptions options;
    options.pace = pace;
    Ends ends("rc-all-v6", options, options);
    CHECK(ends.run());
    return ends.net.now() - kStart;
  };
  const wire::Duration captured = duration({});
  CHECK(duration({.fast = true, .speed = 1}) < captured);
  CHECK(duration({.fast = false, .speed = 0.1}) > 5 * captured);
}

}  // namespace softrnic::replay::test
