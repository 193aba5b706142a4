// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <vector>

#include "link/memory_link.hpp"
#include "unit/link/exchange.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using wire::Instant;
using wire::MacAddress;

constexpr Instant kNow{std::chrono::nanoseconds(5000)};

struct ThreePorts {
  MemoryWire wire;
  std::unique_ptr<Link> a, b, c;
  explicit ThreePorts(std::size_t ring = 16)
      : wire(1500, ring), a(wire.attach("a")), b(wire.attach("b")), c(wire.attach("c")) {}
  // Makes every station known, and empties the rings.
  void introduce() {
    send(*a, ethernet(MacAddress::broadcast(), station(1), 60, 0));
    send(*b, ethernet(MacAddress::broadcast(), station(2), 60, 0));
    send(*c, ethernet(MacAddress::broadcast(), station(3), 60, 0));
    receive(*a), receive(*b), receive(*c);
  }
};

TEST_CASE("A memory port tells its name and MTU and has nothing to wait on") {
  MemoryWire wire(4200);
  const auto port = wire.attach("left");
  CHECK(port->capabilities().name == "left");
  CHECK(port->capabilities().mtu == 4200);
  CHECK(port->descriptor() == -1);
  CHECK(port->next_deadline() == wire::kNever);
  CHECK(receive(*port).empty());
}

TEST_CASE("Groups and unknown stations are flooded to all but the sender") {
  ThreePorts t;
  const auto frame = ethernet(MacAddress::broadcast(), station(1), 60, 7);
  send(*t.a, frame);
  CHECK(receive(*t.a).empty());
  CHECK(receive(*t.b) == Frames{frame});
  CHECK(receive(*t.c) == Frames{frame});

  const auto unknown = ethernet(station(9), station(1), 61, 8);
  send(*t.a, unknown);
  CHECK(receive(*t.b) == Frames{unknown});
  CHECK(receive(*t.c) == Frames{unknown});
  CHECK(receive(*t.a).empty());
}

TEST_CASE("A learned station gets its frames alone, in the sender's own buffer") {
  ThreePorts t;
  t.introduce();
  const auto bytes = ethernet(station(2), station(1), 1514, 3);
  const std::byte* sent = send(*t.a, bytes);
  Frame* frame = nullptr;
  REQUIRE(t.b->rx_burst(kNow, {&frame, 1}) == 1);
  CHECK(frame->bytes().front().data() == sent);
  CHECK(frame->size() == 1514);
  t.b->rx_release({&frame, 1});
  CHECK(receive(*t.c).empty());
}

TEST_CASE("A station that moves is found at its new port") {
  ThreePorts t;
  t.introduce();
  send(*t.a, ethernet(station(2), station(1), 60, 1));
  CHECK(receive(*t.b).size() == 1);
  send(*t.c, ethernet(station(1), station(2), 60, 2));  // station 2 now speaks from c
  CHECK(receive(*t.a).size() == 1);
  send(*t.a, ethernet(station(2), station(1), 60, 3));
  CHECK(receive(*t.b).empty());
  CHECK(receive(*t.c).size() == 1);
}

TEST_CASE("A frame for a station behind the sender's own port goes nowhere") {
  ThreePorts t;
  t.introduce();
  send(*t.a, ethernet(station(1), station(8), 60, 1));
  CHECK(receive(*t.a).empty());
  CHECK(receive(*t.b).empty());
  CHECK(receive(*t.c).empty());
}

TEST_CASE("Order is kept over unicast and flood, and over the ring's seam") {
  ThreePorts t(16);
  t.introduce();
  std::uint8_t mark = 0;
  for (int round = 0; round < 9; ++round) {
    Frames sent;
    for (int i = 0; i < 11; ++i, ++mark) {
      const auto to = i % 3 == 0 ? MacAddress::broadcast() : station(2);
      sent.push_back(ethernet(to, station(1), 60 + mark, mark));
      send(*t.a, sent.back());
    }
    CHECK(receive(*t.b) == sent);
    receive(*t.c);
  }
}

TEST_CASE("A full ring drops the newest and counts it") {
  ThreePorts t(4);
  t.introduce();
  const Link::Statistics before = t.b->statistics();
  for (std::uint8_t i = 0; i < 10; ++i) send(*t.a, ethernet(station(2), station(1), 60, i));
  CHECK(t.b->statistics().rx_dropped - before.rx_dropped == 6);
  CHECK(t.b->statistics().rx_frames - before.rx_frames == 4);
  const auto got = receive(*t.b);
  REQUIRE(got.size() == 4);
  for (std::uint8_t i = 0; i < 4; ++i) CHECK(got[i][20] == std::byte{i});
}

TEST_CASE("Frames the wire cannot carry are counted as dropped") {
  ThreePorts t;
  send(*t.a, ethernet(MacAddress::broadcast(), station(1), 13, 0));
  send(*t.a, ethernet(MacAddress::broadcast(), station(1), 1515, 0));
  send(*t.a, {});
  CHECK(t.a->statistics().tx_dropped == 3);
  CHECK(t.a->statistics().tx_frames == 0);
  CHECK(receive(*t.b).empty());

  auto tagged = ethernet(MacAddress::broadcast(), station(1), 1518, 0);
  tagged[12] = std::byte{0x81};
  send(*t.a, tagged);
  CHECK(t.a->statistics().tx_frames == 1);
  CHECK(t.a->statistics().tx_bytes == 1518);
  CHECK(receive(*t.b) == Frames{tagged});
}

TEST_CASE("No buffer is lost, whatever becomes of a frame") {
  ThreePorts t(4);
  t.introduce();
  std::vector<Frame*> all(100'000);
  const std::size_t capacity = t.a->tx_alloc(all);
  t.a->tx_cancel({all.data(), capacity});
  for (int i = 0; i < 5000; ++i) {
    const auto to = i % 2 == 0 ? MacAddress::broadcast() : station(i % 5);
    send(i % 3 == 0 ? *t.a : *t.b,
         ethernet(to, station(i % 4), static_cast<std::size_t>(i % 1530), 1));
    if (i % 7 == 0) receive(*t.b);
  }
  receive(*t.a), receive(*t.b), receive(*t.c);
  CHECK(t.a->tx_alloc(all) == capacity);
  t.a->tx_cancel({all.data(), capacity});
}

TEST_CASE("A port that is taken off is forgotten, with the frames it held") {
  ThreePorts t;
  t.introduce();
  send(*t.a, ethernet(station(2), station(1), 60, 1));
  t.b.reset();
  const auto bytes = ethernet(station(2), station(1), 60, 2);
  send(*t.a, bytes);  // unknown again: flooded
  CHECK(receive(*t.c) == Frames{bytes});
  t.c.reset();
  send(*t.a, bytes);  // alone on the wire
  CHECK(receive(*t.a).empty());
}

TEST_CASE("Notes stay on the sender's side") {
  ThreePorts t;
  t.introduce();
  Frame* frame = nullptr;
  REQUIRE(t.a->tx_alloc({&frame, 1}) == 1);
  const auto bytes = ethernet(station(2), station(1), 60, 2);
  fill(*frame, bytes);
  frame->note = "corrupt icrc: rule";
  t.a->tx_push(kNow, {&frame, 1});
  REQUIRE(t.b->rx_burst(kNow, {&frame, 1}) == 1);
  CHECK(frame->note.empty());
  t.b->rx_release({&frame, 1});
}

}  // namespace
}  // namespace softrnic::link
