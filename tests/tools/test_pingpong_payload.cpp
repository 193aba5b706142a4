// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <catch2/catch.hpp>

#include "pingpong_payload.hpp"

using namespace softrnic;
using namespace softrnic::tools;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kMessages = 5;
const EndpointAddress kClient{0, 0x11, 100, *wire::Gid::from_string("10.0.0.1")};
const EndpointAddress kServer{0, 0x22, 200, *wire::Gid::from_string("10.0.0.2")};

Bytes message_of(const PingPongPayload& payload, std::uint32_t index, std::size_t size) {
  Bytes bytes(size);
  payload.fill(index, bytes);
  return bytes;
}

PingPongPayload client(std::size_t size) {
  return {true, size, kMessages, kClient, kServer};
}

PingPongPayload server(std::size_t size) {
  return {false, size, kMessages, kServer, kClient};
}

}  // namespace

TEST_CASE("two softrnic sides know what the other sends") {
  for (const std::size_t size : {1u, 2u, 7u, 1000u, 4096u, 4097u, 20000u}) {
    auto left = client(size);
    auto right = server(size);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      INFO("size " << size << ", message " << i);
      CHECK_FALSE(right.check(i, message_of(left, i, size)));
      CHECK_FALSE(left.check(i, message_of(right, i, size)));
    }
  }
}

TEST_CASE("a server that echoes is recognised by the client") {
  auto left = client(5000);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    CHECK_FALSE(left.check(i, message_of(left, i, 5000)));
  }
}

TEST_CASE("a client that begins with 0x7b and then echoes is recognised by the server") {
  const bool with_marks = GENERATE(false, true);
  auto right = server(5000);
  Bytes first(5000, std::byte{0x7b});
  if (with_marks) first[0] = first[4096] = std::byte{0};
  CHECK_FALSE(right.check(0, first));
  for (std::uint32_t i = 1; i < kMessages; ++i) {
    CHECK_FALSE(right.check(i, message_of(right, i - 1, 5000)));
  }
}

TEST_CASE("a side is held to what it has shown itself to be") {
  auto left = client(64);
  auto right = server(64);
  REQUIRE_FALSE(left.check(0, message_of(right, 0, 64)));  // it is a softrnic
  CHECK(left.check(1, message_of(left, 1, 64)));           // and must not echo now
}

TEST_CASE("a damaged byte is found wherever it is") {
  constexpr std::size_t kSize = 300;
  auto right = server(kSize);
  for (std::size_t at = 0; at < kSize; ++at) {
    auto left = client(kSize);
    Bytes bytes = message_of(right, 0, kSize);
    const std::byte good = bytes[at];
    bytes[at] ^= std::byte{1};
    const auto mismatch = left.check(0, bytes);
    REQUIRE(mismatch);
    CHECK(mismatch->offset == at);
    CHECK(mismatch->expected == good);
    CHECK(mismatch->got == bytes[at]);
  }
}

TEST_CASE("a message of the wrong turn is found") {
  auto left = client(64);
  auto right = server(64);
  CHECK(left.check(0, message_of(right, 1, 64)));
  CHECK_FALSE(left.check(0, message_of(right, 0, 64)));
  CHECK(left.check(1, message_of(right, 0, 64)));
  CHECK(left.is_repeated(1, message_of(right, 0, 64)));
  CHECK_FALSE(left.is_repeated(1, message_of(right, 2, 64)));
}

TEST_CASE("the last message has the zeros that -c of ibv_*_pingpong looks for") {
  constexpr std::size_t kSize = 3 * 4096 + 1;
  const auto left = client(kSize);
  const Bytes last = message_of(left, kMessages - 1, kSize);
  for (std::size_t at = 0; at < kSize; at += 4096) CHECK(last[at] == std::byte{0});
  // And no other: they would hide damage.
  const Bytes first = message_of(left, 0, kSize);
  CHECK(
      std::any_of(first.begin(), first.begin() + 8, [](std::byte b) { return b != std::byte{0}; }));
}

TEST_CASE("no two messages are alike") {
  const auto left = client(64);
  const auto right = server(64);
  CHECK(message_of(left, 0, 64) != message_of(left, 1, 64));
  CHECK(message_of(left, 0, 64) != message_of(right, 0, 64));
}

TEST_CASE("a mismatch says where and what") {
  CHECK(Mismatch{17, std::byte{0x7b}, std::byte{0}}.to_string() ==
        "byte 17 is 0x00, expected 0x7b");
}
