// SPDX-License-Identifier: BSD-3-Clause
#include "pingpong_payload.hpp"

#include <algorithm>

namespace softrnic::tools {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::byte kVerbsFill{0x7b};

void mark_pages(std::span<std::byte> out) {
  for (std::size_t at = 0; at < out.size(); at += kPage) out[at] = std::byte{0};
}

std::uint64_t key_of(const EndpointAddress& sender, std::uint32_t index) {
  std::uint64_t key = mix_key(sender.qpn, sender.psn);
  for (const std::uint8_t byte : sender.gid.bytes) key = mix_key(key, byte);
  return mix_key(key, index);
}

}  // namespace

PingPongPayload::PingPongPayload(bool client, std::size_t size, std::uint32_t messages,
                                 const EndpointAddress& local, const EndpointAddress& remote)
    : client_(client),
      messages_(messages),
      local_(local),
      remote_(remote),
      possible_{Peer::softrnic, Peer::echo},
      expected_(size) {
  if (!client) possible_.push_back(Peer::echo_with_marks);
}

void PingPongPayload::make_own(const EndpointAddress& sender, std::uint32_t index,
                               std::span<std::byte> out) const {
  fill_pattern(out, key_of(sender, index));
  if (index + 1 == messages_) mark_pages(out);
}

void PingPongPayload::fill(std::uint32_t index, std::span<std::byte> out) const {
  make_own(local_, index, out);
}

void PingPongPayload::make_expected(Peer peer, std::uint32_t index) {
  if (peer == Peer::softrnic) return make_own(remote_, index, expected_);
  if (client_) return make_own(local_, index, expected_);
  if (index > 0) return make_own(local_, index - 1, expected_);
  std::fill(expected_.begin(), expected_.end(), kVerbsFill);
  if (peer == Peer::echo_with_marks) mark_pages(expected_);
}

std::optional<Mismatch> PingPongPayload::check(std::uint32_t index,
                                               std::span<const std::byte> got) {
  std::vector<Peer> still_possible;
  std::optional<Mismatch> furthest;
  for (const Peer peer : possible_) {
    make_expected(peer, index);
    const auto mismatch = compare(expected_, got);
    if (!mismatch) {
      still_possible.push_back(peer);
    } else if (!furthest || mismatch->offset > furthest->offset) {
      furthest = mismatch;  // most likely what the sender meant
    }
  }
  if (still_possible.empty()) return furthest;
  possible_ = std::move(still_possible);
  return {};
}

bool PingPongPayload::is_repeated(std::uint32_t index, std::span<const std::byte> got) {
  if (index == 0) return false;
  return std::any_of(possible_.begin(), possible_.end(), [&](Peer peer) {
    make_expected(peer, index - 1);
    return !compare(expected_, got);
  });
}

}  // namespace softrnic::tools
