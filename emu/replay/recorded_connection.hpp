// SPDX-License-Identifier: BSD-3-Clause
// A captured connection as what its two ends asked of each other: operations in the order in which
// they were begun, each with its payload, its response and what had happened before it.
//
// A message that a loss cut in two, or that was sent again, is one operation. Payloads lie in a
// PayloadStore, so that the size of the capture does not matter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "replay/connection_choice.hpp"
#include "replay/payload_store.hpp"
#include "wire/aeth.hpp"
#include "wire/opcode.hpp"
#include "wire/psn.hpp"

namespace softrnic::replay {

// A run of bytes in the store.
struct StoredBytes {
  std::uint64_t at = 0;
  std::uint32_t size = 0;
};

struct RecordedOperation {
  std::uint32_t first_frame = 0;
  wire::Instant at;  // of its first packet
  wire::Psn first_psn;
  std::uint32_t psn_count = 0;
  wire::Operation operation = wire::Operation::unknown;
  bool solicited = false;
  bool has_immediate = false;
  bool has_invalidate = false;
  bool whole_region = false;   // FLUSH
  std::uint8_t placement = 0;  // FLUSH
  bool has_response = false;   // READ: all of it; atomics: what was there before
  std::uint8_t rnr_naks = 0;   // the responder had no receive, so often
  wire::Syndrome refusal;      // a NAK that ended the connection; else an ACK
  std::uint32_t immediate = 0;
  std::uint32_t invalidated_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t original = 0;  // atomics: what was there before
  std::uint32_t length = 0;    // bytes of payload, sent or asked for
  std::uint32_t unknown = 0;   // of these, bytes that the capture lacks; they are zeros
  StoredBytes payload;         // what it carries; of a READ, what it got

  // What its sender had seen when it sent the first packet.
  std::uint32_t own_completed = 0;  // operations of its own
  std::uint32_t heard = 0;          // whole messages of the other side
  wire::Instant completed_at;       // when the last of own_completed completed
  wire::Instant heard_at;           // when the last of `heard` came

  bool carries_payload() const {
    return operation == wire::Operation::send || operation == wire::Operation::write ||
           operation == wire::Operation::atomic_write;
  }
  bool is_read() const { return operation == wire::Operation::read_request; }
  bool is_atomic() const {
    return operation == wire::Operation::compare_swap || operation == wire::Operation::fetch_add;
  }
  // Takes a receive of the responder.
  bool takes_receive() const {
    return operation == wire::Operation::send ||
           (operation == wire::Operation::write && has_immediate);
  }
  // Names memory of the responder.
  bool has_key() const { return operation != wire::Operation::send; }
};

struct RecordedSide {
  wire::Gid address;
  std::uint32_t qpn = 0;
  wire::Psn first_psn;
  std::vector<RecordedOperation> operations;
  std::uint32_t left_out = 0;          // messages of which the capture has too little
  std::uint32_t most_outstanding = 1;  // operations at once
  std::uint32_t most_reads = 1;        // READs and atomics at once
};

struct RecordedConnection {
  ChosenConnection chosen;
  std::array<RecordedSide, 2> sides;  // [0]: the requester's
  std::uint32_t path_mtu = 1024;
  bool path_mtu_known = false;
  std::uint32_t frames = 0;  // of this connection
  PayloadStore store;

  std::span<std::byte> bytes(const StoredBytes& stored) {
    return store.bytes().subspan(stored.at, stored.size);
  }
};

// Reads the capture twice: for the connection, and for what it did. The error is one sentence.
wire::Expected<RecordedConnection, std::string> record_connection(const std::string& path,
                                                                  const ConnectionChoice& choice,
                                                                  const OnRecord& on_record = {});

}  // namespace softrnic::replay
