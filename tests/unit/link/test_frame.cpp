// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "link/frame.hpp"
#include "link/frame_pool.hpp"
#include "unit/link/exchange.hpp"

namespace softrnic::link {
namespace {

using test::flat;

// Writes 0, 1, 2, ... from `first` on into the pieces of `room`.
void number(const wire::MutableByteChain& room, int first) {
  for (auto piece : room.pieces()) {
    for (std::byte& b : piece) b = static_cast<std::byte>(first++);
  }
}

struct ThreeSegments {
  std::array<std::byte, 16> a{};
  std::array<std::byte, 8> b{};
  std::array<std::byte, 8> c{};
  Frame frame;

  ThreeSegments() {
    frame.set_segment(0, a.data(), 16);
    frame.set_segment(1, b.data(), 8);
    frame.set_segment(2, c.data(), 8);
    frame.reset(6);
  }
};

TEST_CASE("A fresh frame is empty and has its headroom") {
  ThreeSegments t;
  CHECK(t.frame.size() == 0);
  CHECK(t.frame.bytes().empty());
  CHECK(t.frame.prepend(7).empty());
  CHECK(t.frame.prepend(6).data() == t.a.data());
  CHECK(t.frame.prepend(1).empty());
}

TEST_CASE("append runs across segments and prepend goes in front of it") {
  ThreeSegments t;
  const auto room = t.frame.append(23);  // 10 in the first, 8 in the second, 5 in the third
  REQUIRE(room.size() == 23);
  REQUIRE(room.pieces().size() == 3);
  CHECK(room.pieces()[0].size() == 10);
  CHECK(room.pieces()[1].size() == 8);
  CHECK(room.pieces()[2].size() == 5);
  number(room, 4);
  const auto front = t.frame.prepend(4);
  REQUIRE(front.size() == 4);
  number(front, 0);
  number(t.frame.append(2), 27);

  const auto bytes = flat(t.frame.bytes());
  REQUIRE(bytes.size() == 29);
  for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(std::to_integer<std::size_t>(bytes[i]) == i);
  CHECK(t.frame.size() == 29);
  CHECK(t.frame.mutable_bytes().size() == 29);
}

TEST_CASE("append that ends exactly at a segment's end continues in the next") {
  ThreeSegments t;
  const wire::MutableByteChain room = t.frame.append(10);
  CHECK(room.pieces().size() == 1);
  const auto next = t.frame.append(3);
  REQUIRE(next.size() == 3);
  CHECK(next.front().data() == t.b.data());
}

TEST_CASE("append gives less when the buffers are full, and never more") {
  ThreeSegments t;
  CHECK(t.frame.append(100).size() == 26);
  CHECK(t.frame.append(1).empty());
  CHECK(t.frame.size() == 26);
}

TEST_CASE("reset empties a frame and clears what was said of it") {
  ThreeSegments t;
  t.frame.append(20);
  t.frame.note = "drop: rule";
  t.frame.reset(2);
  CHECK(t.frame.size() == 0);
  CHECK(t.frame.note.empty());
  CHECK(t.frame.append(100).size() == 30);
  t.frame.reset(1000);  // more headroom than buffer: the first segment then holds headers only
  CHECK(t.frame.append(100).size() == 16);
  CHECK(t.frame.prepend(16).size() == 16);
}

TEST_CASE("A received frame shows the bytes the link put into it") {
  std::array<std::byte, 8> a{};
  std::array<std::byte, 8> b{};
  Frame frame;
  frame.set_received(0, a.data(), 8, 3, 5);
  frame.set_received(1, b.data(), 8, 0, 2);
  CHECK(frame.size() == 7);
  CHECK(frame.bytes().front().data() == a.data() + 3);
  frame.set_received(0, a.data(), 8, 1, 4);  // reused for a frame of one segment
  CHECK(frame.size() == 4);
  CHECK(frame.segments().size() == 1);
}

TEST_CASE("A frame without buffers takes nothing") {
  Frame frame;
  frame.reset();
  CHECK(frame.append(1).empty());
  CHECK(frame.prepend(1).empty());
  CHECK(frame.size() == 0);
}

TEST_CASE("A pool lends each frame once, and the last returned first") {
  FramePool pool(500);
  CHECK(pool.allocate() == nullptr);
  pool.grow(3);
  CHECK(pool.available() == 3);
  std::array<Frame*, 5> frames{};
  REQUIRE(pool.allocate(frames) == 3);
  CHECK(pool.available() == 0);
  CHECK(pool.allocate() == nullptr);
  for (int i = 0; i < 3; ++i) {
    CHECK(frames[i]->append(1000).size() >= 500 - wire::kHeadroom);
    for (int j = 0; j < i; ++j) {
      CHECK(frames[i]->segments()[0].base != frames[j]->segments()[0].base);
    }
  }
  pool.release(frames[1]);
  Frame* again = pool.allocate();
  CHECK(again == frames[1]);
  CHECK(again->size() == 0);
  pool.grow(2);
  CHECK(pool.available() == 2);
}

}  // namespace
}  // namespace softrnic::link
