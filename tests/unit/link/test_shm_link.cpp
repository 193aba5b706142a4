// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_link.hpp"

#include <poll.h>

#include <catch2/catch.hpp>
#include <vector>

#include "unit/link/exchange.hpp"
#include "unit/link/shm_scene.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::Instant;
using wire::MacAddress;

constexpr Instant kNow{std::chrono::seconds(1)};

bool readable(const Link& link) {
  pollfd entry{link.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

// Lets the link find that nothing comes, so that it asks to be woken.
void fall_asleep(Link& link, Instant now) {
  receive(link, now);
  if (link.next_deadline() != wire::kNever) receive(link, link.next_deadline());
  REQUIRE(link.next_deadline() == wire::kNever);
}

TEST_CASE("A shm port tells its name, MTU and identity") {
  ShmScene scene;
  const auto port = ShmScene::open("a");
  const Capabilities& what = port->capabilities();
  CHECK(what.name == "shm:lab");
  CHECK(what.mtu == 4200);
  REQUIRE(what.identity.has_value());
  CHECK(what.identity->host == "a");
  CHECK(what.identity->mac == what.mac);
  CHECK_FALSE(what.mac.is_multicast());
  REQUIRE(what.identity->addresses.size() == 2);
  CHECK(what.identity->addresses[0].ip.to_string() == "10.125.173.1");
  CHECK(what.identity->addresses[0].prefix_length == 24);
  CHECK(what.identity->addresses[1].ip.to_string() == "fd7d:a40f:1996::1");
  CHECK(port->descriptor() >= 0);
}

TEST_CASE("The same names give the same addresses again, and no two hosts have the same") {
  ShmScene scene;
  MacAddress mac;
  {
    const auto port = ShmScene::open("node7");
    mac = port->capabilities().mac;
    CHECK(port->capabilities().identity->addresses[0].ip.to_string() == "10.125.173.7");
  }
  const auto g = ShmScene::open("g");  // the seventh letter
  const auto node7 = ShmScene::open("node7");
  CHECK(node7->capabilities().mac == mac);
  CHECK(g->capabilities().identity->addresses[0].ip.to_string() == "10.125.173.7");
  CHECK(node7->capabilities().identity->addresses[0].ip.to_string() == "10.125.173.8");
}

TEST_CASE("Without a name a port is a host of its own") {
  ShmScene scene;
  const auto first = ShmScene::open();
  auto second = ShmScene::open();
  CHECK(first->capabilities().identity->host == "host1");
  CHECK(second->capabilities().identity->host == "host2");
  second.reset();
  CHECK(ShmScene::open()->capabilities().identity->host == "host2");
}

TEST_CASE("A segment and its directory are gone when its last port is") {
  ShmScene scene;
  auto a = ShmScene::open("a");
  auto b = ShmScene::open("b");
  CHECK_FALSE(scene.empty());
  a.reset();
  CHECK_FALSE(scene.empty());
  b.reset();
  CHECK(scene.empty());
}

TEST_CASE("A frame to a host goes there alone, whatever its size") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b"), c = ShmScene::open("c");
  const MacAddress to = b->capabilities().mac, from = a->capabilities().mac;
  for (const std::size_t size : {14u, 60u, 255u, 256u, 257u, 511u, 512u, 513u, 1514u, 4214u}) {
    INFO(size);
    const Bytes bytes = ethernet(to, from, size, static_cast<int>(size));
    send(*a, bytes);
    CHECK(receive(*b) == Frames{bytes});
    CHECK(receive(*c).empty());
    CHECK(receive(*a).empty());
  }
  CHECK(a->statistics().tx_frames == 10);
  CHECK(b->statistics().rx_frames == 10);
  CHECK(b->statistics().rx_bytes == a->statistics().tx_bytes);
}

TEST_CASE("What is longer than the MTU, or no frame, is not sent") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b");
  const MacAddress to = b->capabilities().mac, from = a->capabilities().mac;
  send(*a, ethernet(to, from, 4215, 1));
  send(*a, ethernet(to, from, 13, 1));
  Bytes tagged = ethernet(to, from, 4218, 1);
  tagged[12] = std::byte{0x81};
  tagged[13] = std::byte{0};
  send(*a, tagged);
  CHECK(receive(*b) == Frames{tagged});
  CHECK(a->statistics().tx_dropped == 2);
}

TEST_CASE("Groups and unknown stations are flooded to all other ports") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b"), c = ShmScene::open("c");
  for (const MacAddress& to : {MacAddress::broadcast(), station(9)}) {
    const Bytes bytes = ethernet(to, a->capabilities().mac, 700, 7);
    send(*a, bytes);
    CHECK(receive(*b) == Frames{bytes});
    CHECK(receive(*c) == Frames{bytes});
    CHECK(receive(*a).empty());
  }
}

TEST_CASE("An address that is no host's is learned from its frames, and found where it moves to") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b"), c = ShmScene::open("c");
  const Bytes question = ethernet(station(9), a->capabilities().mac, 60, 1);
  for (Link* home : {b.get(), c.get()}) {
    send(*home, ethernet(MacAddress::broadcast(), station(9), 60, 2));
    receive(*a), receive(*b), receive(*c);
    send(*a, question);
    CHECK(receive(*b) == (home == b.get() ? Frames{question} : Frames{}));
    CHECK(receive(*c) == (home == c.get() ? Frames{question} : Frames{}));
  }
}

TEST_CASE("A frame to an address of the port it comes from goes nowhere") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b");
  send(*a, ethernet(a->capabilities().mac, a->capabilities().mac, 60, 1));
  CHECK(receive(*a).empty());
  CHECK(receive(*b).empty());
}

TEST_CASE("A port keeps the order of each sender, over many laps of its buffers") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b");
  const MacAddress to = b->capabilities().mac, from = a->capabilities().mac;
  for (int i = 0; i < 10'000; ++i) {
    const Bytes one = ethernet(to, from, 60 + i % 1000, i), two = ethernet(to, from, 61, i + 1);
    send(*a, one);
    send(*a, two);
    REQUIRE(receive(*b) == Frames{one, two});
  }
}

TEST_CASE("A receiver that takes nothing makes its sender wait, and then loses frames") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b"), c = ShmScene::open("c");
  const MacAddress from = a->capabilities().mac;
  const Bytes to_b = ethernet(b->capabilities().mac, from, 600, 1);
  const Bytes to_c = ethernet(c->capabilities().mac, from, 600, 2);
  Frame* frame = nullptr;
  std::size_t sent = 0;
  while (a->tx_alloc({&frame, 1}) == 1) {
    fill(*frame, to_b);
    a->tx_push(kNow, {&frame, 1});
    REQUIRE(++sent <= 257);
  }
  CHECK(b->statistics().rx_dropped == 0);
  // After a while it goes on without the sleeper, who gets no more than its part of the buffers.
  const Instant later = kNow + milliseconds(201);
  receive(*a, later);
  for (int i = 0; i < 1000; ++i) send(*a, to_b, later);
  send(*a, to_c, later);
  CHECK(receive(*c) == Frames{to_c});
  const std::uint64_t dropped = b->statistics().rx_dropped;
  CHECK(dropped > 500);
  CHECK(receive(*b).size() == sent + 1000 - dropped);
  // It is awake again.
  send(*a, to_b, later);
  CHECK(receive(*b) == Frames{to_b});
  CHECK(b->statistics().rx_dropped == dropped);
}

TEST_CASE("A sleeping receiver is woken by the next frame, a waking one is left alone") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b");
  const Bytes bytes = ethernet(b->capabilities().mac, a->capabilities().mac, 60, 1);
  Instant now = kNow;
  for (int i = 0; i < 3; ++i) {
    now += milliseconds(1);
    CHECK_FALSE(readable(*b));
    fall_asleep(*b, now);
    CHECK_FALSE(readable(*b));
    send(*a, bytes, now);
    CHECK(readable(*b));
    CHECK(receive(*b, now) == Frames{bytes});
    CHECK_FALSE(readable(*b));
    send(*a, bytes, now);
    CHECK_FALSE(readable(*b));
    CHECK(receive(*b, now) == Frames{bytes});
  }
}

TEST_CASE("Several processes of a host share its addresses, each with its own queue pair numbers") {
  ShmScene scene;
  const auto one = ShmScene::open("a"), two = ShmScene::open("a"), other = ShmScene::open("b");
  CHECK(one->capabilities().mac == two->capabilities().mac);
  CHECK(one->capabilities().numbers == QueuePairNumbers{2, 0x1ffff});
  CHECK(two->capabilities().numbers == QueuePairNumbers{0x20000, 0x3ffff});
  CHECK(other->capabilities().numbers == QueuePairNumbers{2, 0x1ffff});
}

TEST_CASE("An MTU is the segment's, as its first port made it") {
  ShmScene scene;
  const auto a = ShmScene::open("a", "lab", 9000);
  CHECK(a->capabilities().mtu == 9000);
  const auto b = ShmScene::open("b");
  CHECK(b->capabilities().mtu == 9000);
  const Bytes jumbo = ethernet(b->capabilities().mac, a->capabilities().mac, 9014, 1);
  send(*a, jumbo);
  CHECK(receive(*b) == Frames{jumbo});
  CHECK(ShmScene::refusal({.segment = "lab", .host = "c", .mtu = 1500}) ==
        "shm:lab: its MTU is 9000 since its first program made it so: give that, or none");
}

}  // namespace
}  // namespace softrnic::link
