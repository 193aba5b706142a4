// SPDX-License-Identifier: BSD-3-Clause
// Which opcode a packet of a message gets.
#pragma once

#include "transport/work_request.hpp"
#include "wire/opcode.hpp"

namespace softrnic::transport {

// For SEND and WRITE requests: by place in the message, with the immediate or the key to invalidate
// on its last packet only. As RC numbers it.
wire::Opcode message_opcode(SendOperation operation, bool first, bool last);

// What a service calls an opcode of RC: they number their opcodes alike below the top three bits.
wire::Opcode in_service(wire::Service service, wire::Opcode reliable);

}  // namespace softrnic::transport
