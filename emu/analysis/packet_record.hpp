// SPDX-License-Identifier: BSD-3-Clause
// What the analysis keeps of one packet: flat, so that a capture of a million frames stays small.
//
// Everything but the members marked "later" is settled when the packet is seen and never changes,
// so that a second look at the capture shows the same.
#pragma once

#include <cstdint>

#include "wire/instant.hpp"

namespace softrnic::analysis {

inline constexpr std::uint32_t kNone = 0xffffffff;

struct PacketRecord {
  wire::Instant time;
  std::uint32_t frame = 0;
  std::uint32_t stream = kNone;   // index
  std::uint32_t message = kNone;  // index; the message it carries, asks for, or answers
  // Where its payload stands in the message. Meaningless without payload.
  std::uint32_t message_offset = 0;
  std::int32_t relative_psn = 0;     // from the first PSN seen of its number space
  std::uint32_t previous_frame = 0;  // the packet of the stream before it; 0: the first

  // Links to other frames; 0 for none.
  std::uint32_t answers = 0;      // a response: the newest request packet it answers
  std::uint32_t answered_in = 0;  // a request: the answer; later
  std::uint32_t original = 0;     // a repetition: the first packet with this PSN

  std::uint32_t first_finding = 0;  // among the analyzer's findings
  // In flight from this packet's requester, with this packet counted.
  std::uint32_t bytes_in_flight = 0;
  std::uint32_t packets_in_flight = 0;
  std::uint16_t outstanding_reads = 0;  // READs and atomics
  std::uint8_t finding_count = 0;
  std::uint8_t sender = 0;           // side of the stream
  std::uint8_t repetition = 0;       // 1: sent again for the first time; saturates
  bool repeats_payload : 1 = false;  // its payload was seen before: not part of the message
  bool ends_message : 1 = false;     // with it every payload byte of its message has been seen
};

}  // namespace softrnic::analysis
