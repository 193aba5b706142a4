// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_mirror.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "unit/link/exchange.hpp"
#include "unit/link/shm_scene.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using wire::Instant;
using wire::MacAddress;

constexpr Instant kNow{std::chrono::seconds(7)};

struct Seen {
  MirrorNote note;
  Bytes bytes;
};

std::vector<Seen> take(ShmMirror& mirror, std::size_t most = 1000) {
  std::vector<Seen> seen;
  mirror.take(kNow, most, [&](const MirrorNote& note, wire::ByteView frame) {
    seen.push_back({note, Bytes(frame.begin(), frame.end())});
  });
  return seen;
}

std::unique_ptr<ShmMirror> open_mirror() {
  auto mirror = ShmMirror::open("lab");
  REQUIRE(mirror.has_value());
  return std::move(mirror).value();
}

TEST_CASE("A mirror sees every frame, its time, its sender and its receivers") {
  ShmScene scene;
  const auto mirror = open_mirror();
  const auto a = ShmScene::open("a"), b = ShmScene::open("b"), c = ShmScene::open("c");
  std::map<std::string, std::size_t> port;
  for (const auto& station : mirror->stations()) {
    port[station.host] = station.port;
    CHECK(station.process == static_cast<std::uint32_t>(::getpid()));
  }
  REQUIRE(port.size() == 3);

  const Bytes unicast = ethernet(b->capabilities().mac, a->capabilities().mac, 1500, 1);
  const Bytes broadcast = ethernet(MacAddress::broadcast(), c->capabilities().mac, 60, 2);
  const Bytes nowhere = ethernet(a->capabilities().mac, a->capabilities().mac, 61, 3);
  send(*a, unicast, kNow);
  send(*c, broadcast, kNow + std::chrono::nanoseconds(1));
  send(*a, nowhere, kNow);
  const auto seen = take(*mirror);
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].bytes == unicast);
  CHECK(seen[0].note.at == kNow);
  CHECK(seen[0].note.from == port["a"]);
  CHECK((seen[0].note.to.count() == 1 && seen[0].note.to[port["b"]]));
  CHECK(seen[1].bytes == broadcast);
  CHECK(seen[1].note.at == kNow + std::chrono::nanoseconds(1));
  CHECK(seen[1].note.from == port["c"]);
  CHECK((seen[1].note.to.count() == 2 && !seen[1].note.to[port["c"]]));
  CHECK(seen[2].bytes == nowhere);
  CHECK(seen[2].note.to.none());
  // The stations got theirs, and nothing of the mirror's.
  CHECK(receive(*b) == Frames{unicast, broadcast});
  CHECK(receive(*a) == Frames{broadcast});
  CHECK(receive(*c).empty());
  CHECK(mirror->dropped() == 0);
}

TEST_CASE("A mirror that takes nothing loses frames and counts them; the stations lose none") {
  ShmScene scene;
  const auto mirror = open_mirror();
  const auto a = ShmScene::open("a"), b = ShmScene::open("b");
  const Bytes bytes = ethernet(b->capabilities().mac, a->capabilities().mac, 600, 1);
  Instant now = kNow;
  Frame* frame = nullptr;
  constexpr std::size_t kFrames = 2000;
  std::size_t sent = 0;
  for (int i = 0; i < 100'000 && sent < kFrames; ++i) {
    now += std::chrono::microseconds(10);
    receive(*a, now);
    if (a->tx_alloc({&frame, 1}) == 1) {
      fill(*frame, bytes);
      a->tx_push(now, {&frame, 1});
      ++sent;
    }
    receive(*b, now);
  }
  CHECK(sent == kFrames);
  CHECK(b->statistics().rx_frames == kFrames);
  CHECK(b->statistics().rx_dropped == 0);
  CHECK(mirror->dropped() > 1000);
  CHECK(take(*mirror).size() + mirror->dropped() == kFrames);
}

TEST_CASE("A mirror is no host, and keeps a segment that it found or made") {
  ShmScene scene;
  auto mirror = open_mirror();
  auto a = ShmScene::open();
  CHECK(a->capabilities().identity->host == "host1");
  a.reset();
  CHECK_FALSE(scene.empty());
  CHECK(mirror->stations().empty());
  mirror.reset();
  CHECK(scene.empty());
}

}  // namespace
}  // namespace softrnic::link
