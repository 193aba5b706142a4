// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_ring.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace softrnic::link::shm {
namespace {

// A ring in plain memory, zero as a new file is.
struct Scene {
  std::unique_ptr<PortRecord> record = std::make_unique<PortRecord>();
  std::unique_ptr<PortArea> area = std::make_unique<PortArea>();

  RingSender sender() { return {*record, *area}; }
  RingReceiver receiver() { return {*record, *area}; }
};

Descriptor descriptor(std::uint32_t n) {
  return {.port = static_cast<std::uint32_t>(n % kPorts),
          .buffer = static_cast<std::uint32_t>(n % kMaxBuffers),
          .offset = n % (kMostOffset + 1),
          .length = n % 16384};
}

TEST_CASE("A ring gives back what was put in, in order, over many laps") {
  Scene scene;
  RingSender sender = scene.sender();
  RingReceiver receiver = scene.receiver();
  std::uint32_t in = 0, out = 0;
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < kRing / 3; ++i) REQUIRE(sender.push(descriptor(in++)));
    while (out < in) REQUIRE(receiver.pop() == descriptor(out++));
    REQUIRE_FALSE(receiver.pop());
    REQUIRE(receiver.empty());
  }
}

TEST_CASE("A full ring takes no more, and takes again as soon as there is room") {
  Scene scene;
  RingSender sender = scene.sender();
  RingReceiver receiver = scene.receiver();
  for (std::uint32_t i = 0; i < kRing; ++i) REQUIRE(sender.push(descriptor(i)));
  CHECK_FALSE(sender.push(descriptor(7)));
  CHECK(receiver.pop() == descriptor(0));
  CHECK(sender.push(descriptor(kRing)));
  CHECK_FALSE(sender.push(descriptor(7)));
  for (std::uint32_t i = 1; i <= kRing; ++i) REQUIRE(receiver.pop() == descriptor(i));
  CHECK(receiver.empty());
}

TEST_CASE("A new receiver goes on where the last one ended, told or not") {
  Scene scene;
  RingSender sender = scene.sender();
  std::uint32_t in = 0, out = 0;
  for (const bool told : {true, false, false, true, false}) {
    RingReceiver receiver = scene.receiver();
    for (int i = 0; i < 3000; ++i) REQUIRE(sender.push(descriptor(in++)));
    while (out + 1000 < in) REQUIRE(receiver.pop() == descriptor(out++));
    if (told) receiver.publish();
    RingReceiver next = scene.receiver();
    while (out < in) REQUIRE(next.pop() == descriptor(out++));
  }
}

TEST_CASE("A sender that died before it moved the tail on is in nobody's way") {
  Scene scene;
  RingSender sender = scene.sender();
  RingReceiver receiver = scene.receiver();
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint64_t tail = scene.record->tail;
    REQUIRE(sender.push(descriptor(2 * i)));
    scene.record->tail = tail;
    REQUIRE(sender.push(descriptor(2 * i + 1)));
    REQUIRE(receiver.pop() == descriptor(2 * i));
    REQUIRE(receiver.pop() == descriptor(2 * i + 1));
  }
}

TEST_CASE("A ring that was written over works again once its receiver found it empty") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Scene scene;
  RingSender sender = scene.sender();
  auto receiver = std::make_unique<RingReceiver>(scene.receiver());
  for (int round = 0; round < 300; ++round) {
    const int writes = static_cast<int>(random() % 50);
    for (int i = 0; i < writes; ++i) {
      switch (random() % 4) {
        case 0:
          scene.record->tail = random();
          break;
        case 1:
          scene.record->head = random();
          break;
        default:
          scene.area->ring[random() % kRing] = random();
      }
      sender.push(descriptor(static_cast<std::uint32_t>(random())));
      receiver->pop();
    }
    if (random() % 4 == 0) receiver = std::make_unique<RingReceiver>(scene.receiver());
    // Until what was written is used up: a lap, and then the place where senders begin is put
    // right.
    for (std::size_t i = 0; i < 3 * kRing; ++i) {
      if (!receiver->pop()) receiver->repair();
      sender.push(descriptor(1));
    }
    while (receiver->pop()) {
    }
    receiver->repair();
    for (std::uint32_t i = 0; i < 100; ++i) {
      REQUIRE(sender.push(descriptor(i)));
      REQUIRE(receiver->pop() == descriptor(i));
    }
  }
}

TEST_CASE("Many senders at once lose nothing and each keeps its order") {
  constexpr std::uint32_t kSenders = 4, kEach = 50'000;
  Scene scene;
  RingReceiver receiver = scene.receiver();
  std::vector<std::thread> threads;
  for (std::uint32_t s = 0; s < kSenders; ++s) {
    threads.emplace_back([&scene, s] {
      RingSender sender = scene.sender();
      for (std::uint32_t i = 0; i < kEach; ++i) {
        const Descriptor d{.port = s, .buffer = i % 512, .offset = 0, .length = i / 512};
        while (!sender.push(d)) std::this_thread::yield();
      }
    });
  }
  std::array<std::uint32_t, kSenders> next{};
  std::uint32_t wrong = 0;
  for (std::uint32_t n = 0; n < kSenders * kEach;) {
    const auto d = receiver.pop();
    if (!d) {
      std::this_thread::yield();
      continue;
    }
    const std::uint32_t i = next[d->port]++;
    wrong += d->buffer != i % 512 || d->length != i / 512;
    ++n;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(receiver.empty());
}

}  // namespace
}  // namespace softrnic::link::shm
