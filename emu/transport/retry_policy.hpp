// SPDX-License-Identifier: BSD-3-Clause
// Every timer, interval and window of the transport, by name, in one place.
#pragma once

#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::transport {

// Local ACK timeout for a code of 1 to 31: 4.096 us * 2^code (IBTA vol. 1, 9.7.6.1.3). The
// standard lets a timer fire between one and four times that: the first timeout of a row fires as
// soon as it has passed, each further one doubles, up to the bound, so that a slow peer is not
// buried under repetitions.
constexpr wire::Duration local_ack_timeout(std::uint8_t code) {
  return wire::Duration(std::int64_t{4096} << (code & 31));
}

// The standard's upper bound for the same timer.
inline constexpr int kTimeoutBound = 4;
constexpr wire::Duration local_ack_timeout_limit(std::uint8_t code) {
  return kTimeoutBound * local_ack_timeout(code);
}

// The timer after `in_row` timeouts without progress.
constexpr wire::Duration local_ack_timeout_after(std::uint8_t code, int in_row) {
  return local_ack_timeout(code) * (in_row >= 2 ? kTimeoutBound : 1 << in_row);
}

// rnr_retry: try for ever.
inline constexpr std::uint8_t kInfiniteRnrRetry = 7;

// Window: request packets (other than READs) sent and not acknowledged, at most. Hardware leaves
// this to link-level flow control; a queue of a few hundred frames at the peer does not have any.
inline constexpr std::uint32_t kMaxUnackedPackets = 128;

// With selective repeat, PSNs from the expected one on that a responder keeps, and so the most that
// a requester has under way, packets counted that the peer has already. The scoreboard and the
// early requests take 8 KiB and 60 KiB for it.
inline constexpr std::uint32_t kSelectiveWindow = 256;

// With selective repeat: the oldest packet is sent again when nothing has been heard for so many
// round trips, and at least for so long, before its local ACK timer fires; the second and third
// time after twice the wait before.
inline constexpr int kProbeRoundTrips = 3;
inline constexpr wire::Duration kMinProbeWait = std::chrono::microseconds(100);
inline constexpr int kMaxProbes = 3;

// The window after a timeout or an RNR wait. A sequence NAK halves the window, down to this. Every
// acknowledged packet widens it by one. Go-back-N resends all that follows a loss, so where frames
// are lost a wide window mostly carries what will be dropped.
inline constexpr std::uint32_t kRestartWindow = 8;

// At least every this many packets one asks for an acknowledgement, so that the window moves on
// long before it closes.
inline constexpr std::uint32_t kAckRequestInterval = 32;

// PSNs between the oldest unacknowledged and the next to send, READ responses included: half of
// the 2^23 that the receiver can tell ahead from behind (9.7.2).
inline constexpr std::int32_t kMaxPsnsInFlight = 1 << 22;

// Longest READ, in response packets: with all that may be in flight before it, it stays within what
// the receiver can tell ahead from behind. Only a READ of more than 1 GiB at a path MTU of 256 is
// longer.
inline constexpr std::uint32_t kMaxReadPackets = 1u << 22;

// Longest message (IBTA vol. 1, 9.2.8 by way of RETH: 2^31 bytes).
inline constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 31;

// Packets a message of `length` bytes takes; an empty message takes one.
constexpr std::uint32_t packets_of(std::uint64_t length, std::uint32_t path_mtu) {
  return length == 0 ? 1 : static_cast<std::uint32_t>((length + path_mtu - 1) / path_mtu);
}

}  // namespace softrnic::transport
