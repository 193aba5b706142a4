// SPDX-License-Identifier: BSD-3-Clause
// Every timer, interval and window of the transport, by name, in one place.
#pragma once

#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::transport {

// Local ACK timeout for a code of 1 to 31: 4.096 us * 2^code (IBTA vol. 1, 9.7.6.1.3). The
// standard lets a timer fire between one and four times that; we fire at once it has passed.
constexpr wire::Duration local_ack_timeout(std::uint8_t code) {
  return wire::Duration(std::int64_t{4096} << (code & 31));
}

// The standard's upper bound for the same timer.
constexpr wire::Duration local_ack_timeout_limit(std::uint8_t code) {
  return 4 * local_ack_timeout(code);
}

// rnr_retry: try for ever.
inline constexpr std::uint8_t kInfiniteRnrRetry = 7;

// Request packets (other than READs) sent and not acknowledged, at most. Hardware leaves this to
// link-level flow control; a queue of a few hundred frames at the peer does not have any.
inline constexpr std::uint32_t kMaxUnackedPackets = 128;

// At least every this many packets one asks for an acknowledgement, so that the window moves on
// long before it closes.
inline constexpr std::uint32_t kAckRequestInterval = 32;

// PSNs between the oldest unacknowledged and the next to send, READ responses included: half of
// the 2^23 that the receiver can tell ahead from behind (9.7.2).
inline constexpr std::int32_t kMaxPsnsInFlight = 1 << 22;

// Longest message (IBTA vol. 1, 9.2.8 by way of RETH: 2^31 bytes).
inline constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 31;

// Packets a message of `length` bytes takes; an empty message takes one.
constexpr std::uint32_t packets_of(std::uint64_t length, std::uint32_t path_mtu) {
  return length == 0 ? 1 : static_cast<std::uint32_t>((length + path_mtu - 1) / path_mtu);
}

}  // namespace softrnic::transport
