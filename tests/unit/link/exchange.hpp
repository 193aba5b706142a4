// SPDX-License-Identifier: BSD-3-Clause
// Whole frames into and out of a link, for tests.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "link/link.hpp"

namespace softrnic::link::test {

using Bytes = std::vector<std::byte>;
using Frames = std::vector<Bytes>;

inline wire::MacAddress station(int n) {
  return {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(n)}};
}

// A frame of `size` bytes, cut off if that is less than its header, filled with `mark`.
inline Bytes ethernet(const wire::MacAddress& to, const wire::MacAddress& from, std::size_t size,
                      int mark) {
  Bytes bytes(size, static_cast<std::byte>(mark));
  for (std::size_t i = 0; i < 6 && i < size; ++i) bytes[i] = std::byte{to.bytes[i]};
  for (std::size_t i = 0; i < 6 && i + 6 < size; ++i) bytes[i + 6] = std::byte{from.bytes[i]};
  return bytes;
}

inline Bytes flat(const wire::ByteChain& chain) {
  Bytes out(chain.size());
  chain.copy_to(0, out);
  return out;
}

// Lays `bytes` into an empty frame.
inline void fill(Frame& frame, const Bytes& bytes) {
  const auto room = frame.append(bytes.size());
  REQUIRE(room.size() == bytes.size());
  std::size_t at = 0;
  for (auto piece : room.pieces()) {
    for (std::byte& b : piece) b = bytes[at++];
  }
}

// Sends a frame; returns where its bytes lay.
inline const std::byte* send(Link& link, const Bytes& bytes, wire::Instant now = {}) {
  Frame* frame = nullptr;
  REQUIRE(link.tx_alloc({&frame, 1}) == 1);
  fill(*frame, bytes);
  const std::byte* where = frame->bytes().front().data();
  link.tx_push(now, {&frame, 1});
  return where;
}

// All that has arrived.
inline Frames receive(Link& link, wire::Instant now = {}) {
  Frames out;
  std::array<Frame*, 7> frames{};
  while (const std::size_t n = link.rx_burst(now, frames)) {
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(frames[i]->received_at == now);
      out.push_back(flat(frames[i]->bytes()));
    }
    link.rx_release({frames.data(), n});
  }
  return out;
}

}  // namespace softrnic::link::test
