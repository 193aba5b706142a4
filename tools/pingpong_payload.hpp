// SPDX-License-Identifier: BSD-3-Clause
// What the messages of a ping-pong contain, and whether what came is right.
//
// softrnic sends pseudo-random bytes, different in every message and made from the addresses both
// sides exchanged, so that another softrnic knows what to expect. ibv_*_pingpong has one buffer:
// it starts as 0x7b all over (a client with -c zeroes the first byte of each page), and from then
// on it sends back what it received last. Which of these the other side is shows in its first
// messages; from then on it is held to it.
//
// The last message has a zero in the first byte of each 4 KiB page, as the server's -c of
// ibv_*_pingpong wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "out_of_band.hpp"
#include "payload_pattern.hpp"

namespace softrnic::tools {

class PingPongPayload {
 public:
  PingPongPayload(bool client, std::size_t size, std::uint32_t messages,
                  const EndpointAddress& local, const EndpointAddress& remote);

  // The message to send as number `index`, counted from 0.
  void fill(std::uint32_t index, std::span<std::byte> out) const;

  // Nothing when `got` is right as message `index` of the other side.
  std::optional<Mismatch> check(std::uint32_t index, std::span<const std::byte> got);

  // Whether `got`, which is wrong as message `index`, is the message before it once more.
  bool is_repeated(std::uint32_t index, std::span<const std::byte> got);

 private:
  // Who the other side may be.
  enum class Peer : std::uint8_t { softrnic, echo, echo_with_marks };

  void make_own(const EndpointAddress& sender, std::uint32_t index, std::span<std::byte> out) const;
  void make_expected(Peer peer, std::uint32_t index);

  bool client_;
  std::uint32_t messages_;
  EndpointAddress local_;
  EndpointAddress remote_;
  std::vector<Peer> possible_;
  std::vector<std::byte> expected_;
};

}  // namespace softrnic::tools
