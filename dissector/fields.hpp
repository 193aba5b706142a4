// SPDX-License-Identifier: GPL-2.0-or-later
// The fields that are no header's: what was decoded, worked out or found. Each has one row in
// fields.cpp's table.
#pragma once

#include <cstddef>

#include "dissector/wireshark.hpp"
#include "wire/opcode.hpp"

namespace softrnic::dissector {

enum class FieldId : unsigned char {
  version,
  service,
  operation,
  source_gid,
  destination_gid,

  syndrome_kind,
  credits,
  credits_unlimited,
  rnr_timer,
  nak,
  cnp_reserved,

  payload,
  payload_length,
  pad,
  icrc,
  icrc_calculated,
  icrc_status,
  icrc_hint,

  // What the analysis says.
  stream,
  source_qp,
  queue_pair,
  paired_by,
  path_mtu,
  stream_credits,
  relative_psn,
  relative_time,
  time_delta,
  previous_frame,
  acks,
  acked_in,
  request_in,
  response_in,
  retransmission_of,
  repetition,
  ack_latency,
  read_latency,
  bytes_in_flight,
  packets_in_flight,
  outstanding_reads,
  message,
  message_number,
  message_operation,
  message_length,
  message_packets,
  message_offset,
  message_begins_in,
  message_completed_in,
  message_completion_time,
  message_state,
  findings,
  finding_flags,
  meaning,
  related_frame,

  count,
};

enum class Subtree : unsigned char { packet, syndrome, icrc, stream, analysis, message, count };

// What is remarkable about a packet by itself.
enum class Remark : unsigned char {
  icrc_bad,
  too_short,
  reserved_opcode,
  rd_or_dc,
  bad_version,
  headers_too_long,
  bad_pad,
  pad_not_zero,
  grh_length,
  count,
};

// "RDMA WRITE", "SEND": as users say it.
const char* operation_name(wire::Operation operation);

int field(FieldId id);
int subtree(Subtree id);
expert_field* remark(Remark id);

void register_fields(int protocol, expert_module* experts);

}  // namespace softrnic::dissector
