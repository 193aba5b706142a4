// SPDX-License-Identifier: BSD-3-Clause
// A message: one work request as the wire shows it, from its first request packet to the answer
// that completes it.
#pragma once

#include <cstdint>

#include "wire/aeth.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"

namespace softrnic::analysis {

enum class MessageState : std::uint8_t {
  open,       // packets or the answer are still to come
  complete,   // all packets seen; reliable services: acknowledged or answered
  refused,    // a NAK ended it
  abandoned,  // another message began inside it, or the capture shows it only in part
};

std::string_view to_string(MessageState state);

struct Message {
  std::uint32_t stream = 0;
  // Among the messages of its requester in this stream, from 1; 0 when its beginning was not seen.
  std::uint32_t number = 0;
  std::uint8_t requester = 0;  // the side of the stream that asked
  // send, write, read_request, compare_swap, fetch_add, flush, atomic_write.
  wire::Operation operation = wire::Operation::unknown;
  MessageState state = MessageState::open;
  wire::Syndrome answer;  // of the ACK or NAK, when there was one

  std::uint32_t first_frame = 0;      // its first request packet
  std::uint32_t last_frame = 0;       // its last one so far
  std::uint32_t completed_frame = 0;  // the answer that completed or refused it; 0: none yet
  wire::Instant first_time;
  wire::Instant completed_time;

  std::uint32_t first_psn = 0;
  std::uint32_t psn_count = 0;  // PSNs it takes: a READ takes one for each response packet
  std::uint32_t packets = 0;    // request packets seen, without repetitions
  std::uint32_t repetitions = 0;

  std::uint64_t virtual_address = 0;  // write, read, atomics, flush
  std::uint32_t remote_key = 0;
  std::uint32_t length = 0;         // bytes announced; of a SEND, known at its last packet
  std::uint32_t payload_bytes = 0;  // bytes seen, without repetitions; of a READ, of its responses
  std::uint32_t immediate = 0;
  std::uint32_t invalidated_key = 0;
  bool has_immediate = false;
  bool has_invalidate = false;
  // A headers_cut frame began it: address and key are not known, and the length only once all was
  // seen.
  bool headers_cut = false;
  bool whole = false;  // every packet that carries payload was seen, in order, none missing

  // Of a message whose beginning turned up late, all packets were found to be another's.
  bool came_to_nothing() const { return number == 0 && packets == 0; }
};

}  // namespace softrnic::analysis
