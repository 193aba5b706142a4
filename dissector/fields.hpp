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

  count,
};

enum class Subtree : unsigned char { packet, syndrome, icrc, analysis, message, count };

// What is remarkable about a packet by itself.
enum class Remark : unsigned char {
  icrc_bad,
  too_short,
  reserved_opcode,
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
