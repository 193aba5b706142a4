// SPDX-License-Identifier: BSD-3-Clause
// The event loop in real time. Nothing here measures time: the limits only end a test that hangs.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>

#include "nic/event_loop.hpp"
#include "nic_world.hpp"

namespace softrnic::nic::test {
namespace {

constexpr wire::Duration kLimit = std::chrono::seconds(60);

TEST_CASE("real time does not run backwards and starts at the Unix epoch") {
  const wire::Instant first = real_now();
  CHECK(first > wire::Instant(std::chrono::hours(24 * 365 * 50)));
  wire::Instant last = first;
  bool backwards = false;
  for (int i = 0; i < 10000; ++i) {
    const wire::Instant now = real_now();
    backwards |= now < last;
    last = now;
  }
  CHECK_FALSE(backwards);
}

TEST_CASE("the event loop turns several NICs until the condition holds") {
  NicWorld world;
  Nic& first = world.add(1);
  Nic& second = world.add(2);
  bool answered = false;
  first.on_echo_reply([&answered](wire::Instant, const wire::Gid&, std::uint16_t, std::uint16_t,
                                  wire::ByteView) { answered = true; });
  EventLoop loop({&first, &second});
  REQUIRE(first.ping(real_now(), gid("10.0.0.2"), 1, 1, {}));
  CHECK(loop.run_until([&answered] { return answered; }, real_now() + kLimit));
  CHECK(loop.run_until([] { return true; }, wire::Instant::min()));
}

TEST_CASE("the event loop sleeps to a deadline of the NIC, or to the caller's") {
  NicWorld world;
  Nic& nic = world.add(1);
  EventLoop loop(nic);
  // Three probes that nobody answers, then the neighbour has failed.
  nic.ping(real_now(), gid("10.0.0.9"), 1, 1, {});
  CHECK(loop.run_until([&nic] { return nic.counters().tx_unresolved == 1; }, real_now() + kLimit));
  const wire::Instant deadline = real_now() + std::chrono::milliseconds(5);
  CHECK_FALSE(loop.run_until([] { return false; }, deadline));
  CHECK(real_now() >= deadline);
}

TEST_CASE("a watched descriptor wakes the event loop") {
  NicWorld world;
  Nic& nic = world.add(1);
  EventLoop loop(nic);
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_NONBLOCK) == 0);
  loop.watch(ends[0]);
  REQUIRE(write(ends[1], "x", 1) == 1);
  char c = 0;
  CHECK(loop.run_until([&] { return read(ends[0], &c, 1) == 1; }, real_now() + kLimit));
  CHECK(c == 'x');
  close(ends[0]);
  close(ends[1]);
}

EventLoop* signalled_loop = nullptr;

TEST_CASE("an interruption ends the event loop, also from a signal handler") {
  NicWorld world;
  EventLoop loop(world.add(1));
  signalled_loop = &loop;
  struct sigaction action {};
  action.sa_handler = [](int) { signalled_loop->interrupt(); };
  struct sigaction before {};
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  int turns = 0;
  CHECK_FALSE(loop.run_until(
      [&turns] {
        if (++turns == 3) raise(SIGUSR1);
        return false;
      },
      real_now() + kLimit));
  CHECK(turns == 3);
  CHECK(loop.interrupted());
  CHECK_FALSE(loop.run_until([] { return false; }, real_now() + kLimit));
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace softrnic::nic::test
