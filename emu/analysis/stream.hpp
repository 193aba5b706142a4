// SPDX-License-Identifier: BSD-3-Clause
// A stream: one connection, or one pair of UD queue pairs, with both of its directions.
#pragma once

#include <array>
#include <cstdint>

#include "wire/gid.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::analysis {

inline constexpr std::uint32_t kUnknownQpn = 0xffffffff;

// How the two directions were found to belong together.
enum class PairedBy : std::uint8_t {
  nothing,  // one direction only so far
  cm,       // a CM exchange named both QPs
  user,     // the user's table did
  answer,   // an answer fitted what was outstanding
  guess,    // the only open connection between the two hosts
  deth,     // UD packets name both QPs
};

std::string_view to_string(PairedBy how);

// What one side sent, and what it asked for.
struct StreamSide {
  wire::Gid address;
  std::uint32_t qpn = kUnknownQpn;  // its own: the destination QP of what the other side sends
  std::uint16_t udp_source_port = 0;

  std::uint64_t bytes = 0;  // payload bytes, without repetitions
  // There are no more packets than frame numbers.
  std::uint32_t packets = 0;
  std::uint32_t requests = 0;
  std::uint32_t retransmissions = 0;  // request packets, of whatever cause
  std::uint32_t timeouts = 0;         // episodes: runs of packets after one cause
  std::uint32_t sequence_naks = 0;    // NAKs this side sent
  std::uint32_t selective_acks = 0;
  std::uint32_t other_naks = 0;
  std::uint32_t rnr_naks = 0;
  std::uint32_t lost = 0;  // packets of this side that the capture shows missing and sent again
  std::uint32_t duplicates = 0;
  std::uint32_t out_of_order = 0;
  std::uint32_t acks = 0;
  std::uint32_t ecn_marked = 0;
  std::uint32_t ecn_capable = 0;  // ECT(0), ECT(1) or marked
  std::uint32_t cnps = 0;         // CNPs this side sent
  std::uint32_t bad_icrc = 0;
  std::uint32_t messages = 0;
  std::uint32_t messages_complete = 0;
};

struct Stream {
  std::uint32_t index = 0;
  wire::Service service = wire::Service::unknown;
  wire::RoceVersion version = wire::RoceVersion::v2;
  PairedBy paired_by = PairedBy::nothing;
  bool broken = false;              // a NAK or exhausted retries ended it
  std::uint32_t path_mtu = 0;       // bytes, from FIRST and MIDDLE packets or CM; 0: not known
  bool path_mtu_inferred = false;   // only from the PSNs that a READ takes
  std::array<StreamSide, 2> sides;  // [0] sent the first packet seen
  std::uint32_t first_frame = 0;
  std::uint32_t last_frame = 0;
  wire::Instant first_time;
  wire::Instant last_time;
  // From CM, 0xff when unknown: most repetitions, and of RNR (7: without end).
  std::array<std::uint8_t, 2> retry_count{0xff, 0xff};
  std::array<std::uint8_t, 2> rnr_retry_count{0xff, 0xff};
  std::array<std::uint8_t, 2> ack_timeout{0xff, 0xff};  // from CM: 4.096 us * 2^n; 0: none
};

}  // namespace softrnic::analysis
