// SPDX-License-Identifier: BSD-3-Clause
#include "transport/opcode_choice.hpp"

namespace softrnic::transport {
namespace {

struct Row {
  wire::Opcode first, middle, last, only;
};

// Indexed by SendOperation, up to rdma_write_with_immediate.
constexpr Row kRows[] = {
    {wire::Opcode::rc_send_first, wire::Opcode::rc_send_middle, wire::Opcode::rc_send_last,
     wire::Opcode::rc_send_only},
    {wire::Opcode::rc_send_first, wire::Opcode::rc_send_middle,
     wire::Opcode::rc_send_last_immediate, wire::Opcode::rc_send_only_immediate},
    {wire::Opcode::rc_write_first, wire::Opcode::rc_write_middle, wire::Opcode::rc_write_last,
     wire::Opcode::rc_write_only},
    {wire::Opcode::rc_write_first, wire::Opcode::rc_write_middle,
     wire::Opcode::rc_write_last_immediate, wire::Opcode::rc_write_only_immediate},
};

constexpr Row kSendWithInvalidate = {wire::Opcode::rc_send_first, wire::Opcode::rc_send_middle,
                                     wire::Opcode::rc_send_last_invalidate,
                                     wire::Opcode::rc_send_only_invalidate};

const Row& row_of(SendOperation operation) {
  return operation == SendOperation::send_with_invalidate
             ? kSendWithInvalidate
             : kRows[static_cast<std::uint8_t>(operation)];
}

}  // namespace

wire::Opcode message_opcode(SendOperation operation, bool first, bool last) {
  const Row& row = row_of(operation);
  return first ? (last ? row.only : row.first) : (last ? row.last : row.middle);
}

wire::Opcode in_service(wire::Service service, wire::Opcode reliable) {
  return static_cast<wire::Opcode>(static_cast<std::uint8_t>(reliable) |
                                   static_cast<std::uint8_t>(service) << 5);
}

}  // namespace softrnic::transport
