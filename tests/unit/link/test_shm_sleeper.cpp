// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_sleeper.hpp"

#include <poll.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "unit/link/shm_scene.hpp"

namespace softrnic::link::shm {
namespace {

wire::Instant at(int microseconds) {
  return wire::Instant(std::chrono::microseconds(microseconds));
}

// A receiver, and a sender that puts frames in its ring and rings when it likes.
struct Scene {
  test::ShmScene directory;
  Port port = attach();
  Port other = attach();
  Sleeper sleeper{port};
  Bells bells{other};
  RingReceiver receiver{port.record(), port.area()};
  RingSender sender{port.record(), port.area()};

  static Port attach() {
    auto made = Port::attach({.segment = "lab", .mtu = 0, .role = PortRole::station, .host = ""});
    REQUIRE(made.has_value());
    return std::move(made).value();
  }

  void put() { REQUIRE(sender.push({.port = 1, .buffer = 0, .offset = 0, .length = 64})); }
  void take(wire::Instant now) {
    REQUIRE(receiver.pop());
    sleeper.after_burst(now, 1, receiver);
  }
  void ring() { bells.ring(port.index()); }
  bool rung() {
    pollfd entry{sleeper.descriptor(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }
};

TEST_CASE("A receiver that is going to wait is woken by the next frame, and not before") {
  Scene scene;
  scene.ring();
  CHECK_FALSE(scene.rung());
  REQUIRE(scene.sleeper.prepare(scene.receiver));
  CHECK(scene.sleeper.next_deadline() == wire::kNever);
  CHECK_FALSE(scene.rung());
  scene.put();
  scene.ring();
  CHECK(scene.rung());
  scene.take(at(0));
  CHECK_FALSE(scene.rung());
}

TEST_CASE("Who has a frame already need not wait") {
  Scene scene;
  scene.put();
  CHECK_FALSE(scene.sleeper.prepare(scene.receiver));
  scene.ring();
  CHECK_FALSE(scene.rung());
  scene.take(at(0));
  CHECK(scene.sleeper.prepare(scene.receiver));
}

TEST_CASE("A sender that rings late, for a frame that was found already, costs no later frame") {
  Scene scene;
  scene.put();
  scene.take(at(0));
  REQUIRE(scene.sleeper.prepare(scene.receiver));
  scene.ring();  // for the frame that has been taken
  CHECK(scene.rung());
  scene.sleeper.after_burst(at(1), 0, scene.receiver);
  CHECK_FALSE(scene.rung());
  REQUIRE(scene.sleeper.prepare(scene.receiver));
  scene.put();
  scene.ring();
  CHECK(scene.rung());
}

TEST_CASE("The byte of a ring that was heard is taken, and that of one that was not stays") {
  Scene scene;
  REQUIRE(scene.sleeper.prepare(scene.receiver));
  // A sender has found us waiting, and has not yet written.
  scene.port.record().waiting.store(0);
  scene.sleeper.after_burst(at(1), 0, scene.receiver);
  // It writes, and another, which rings just after we have looked.
  REQUIRE(::write(scene.sleeper.descriptor(), "ab", 2) == 2);
  scene.sleeper.after_burst(at(2), 0, scene.receiver);
  CHECK(scene.rung());
}

TEST_CASE("A receiver that finds nothing for a while waits without being asked") {
  Scene scene;
  scene.put();
  scene.take(at(0));
  const wire::Instant due = scene.sleeper.next_deadline();
  CHECK(due == at(0) + Sleeper::kQuiet);
  scene.sleeper.after_burst(due, 0, scene.receiver);
  CHECK(scene.sleeper.next_deadline() == wire::kNever);
  scene.put();
  scene.ring();
  CHECK(scene.rung());
}

}  // namespace
}  // namespace softrnic::link::shm
